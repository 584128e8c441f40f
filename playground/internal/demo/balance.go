package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/playground/internal/await"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// reply is the answer that a client of a Service gets.
type reply struct{ url, text string }

// balance creates a Service and waits until its load balancer carries traffic.
func (d *demo) balance(ctx context.Context) (string, error) {
	services := d.cluster.Client().CoreV1().Services(namespace)
	if _, err := services.Create(ctx, service(), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("create the Service: %w", err)
	}
	err := await.Until(ctx, "the load balancer", func(ctx context.Context) error {
		found, err := services.Get(ctx, app, metav1.GetOptions{})
		if err != nil {
			return err
		}
		d.seen.service = *found
		if d.seen.balancers, err = d.cloud.LoadBalancers(ctx); err != nil {
			return err
		}
		if is := condition(*found, serving); is != metav1.ConditionTrue {
			return fmt.Errorf("the Service's condition %s is %q", serving, is)
		}
		if serviceURL(d.seen.balancers) == "" {
			return errors.New("the load balancer does not listen")
		}
		if well := healthy(d.seen.balancers); well < len(d.seen.instances) {
			return fmt.Errorf("%d backends are healthy, want %d: %s", well, len(d.seen.instances), ailments(d.seen.balancers))
		}
		return nil
	})
	return fmt.Sprintf("Service %s has the address %s, with %d nodes behind it", app, address(d.seen.service), healthy(d.seen.balancers)), err
}

// curl sends a request to the Service, as any client would.
func (d *demo) curl(ctx context.Context) (string, error) {
	r := reply{url: serviceURL(d.seen.balancers)}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return "", err
	}
	// Like curl, the client uses no proxy and a new connection for each request.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }() // the body has been read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("%s: %w", r.url, err)
	}
	r.text = strings.TrimSpace(string(body))
	d.seen.replies = append(d.seen.replies, r)
	return fmt.Sprintf("curl %s: %s", r.url, r.text), nil
}

// release deletes the Service and waits until it is gone. Then it records the load balancers that
// the cloud still has.
func (d *demo) release(ctx context.Context) (string, error) {
	services := d.cluster.Client().CoreV1().Services(namespace)
	if err := services.Delete(ctx, app, metav1.DeleteOptions{}); err != nil {
		return "", fmt.Errorf("delete the Service: %w", err)
	}
	err := await.Until(ctx, "the Service to go", func(ctx context.Context) error {
		found, err := services.Get(ctx, app, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("it is still there, with the finalizers %v", found.Finalizers)
	})
	if err != nil {
		return "", err
	}
	d.seen.left, err = d.cloud.LoadBalancers(ctx)
	return fmt.Sprintf("Service %s is deleted, and %d load balancers are left in the cloud", app, len(d.seen.left)), err
}

func address(s corev1.Service) string {
	for _, i := range s.Status.LoadBalancer.Ingress {
		return i.IP
	}
	return ""
}

// serviceURL returns the URL at which the load balancer listens. If the cloud lacks the
// privilege to listen on port 80, the URL has another port. While the load balancer does
// not listen, serviceURL returns "".
func serviceURL(balancers []simulator.LoadBalancer) string {
	for _, b := range balancers {
		if b.Traffic != nil && len(b.Traffic.Listeners) > 0 && b.Traffic.Listeners[0].Address != "" {
			return "http://" + strings.TrimSuffix(b.Traffic.Listeners[0].Address, ":80") + "/"
		}
	}
	return ""
}

func healthy(balancers []simulator.LoadBalancer) int {
	count := 0
	for _, b := range backendsOf(balancers) {
		if b.Health == simulator.BackendHealthy {
			count++
		}
	}
	return count
}

func ailments(balancers []simulator.LoadBalancer) string {
	var all []string
	for _, b := range backendsOf(balancers) {
		if b.Health != simulator.BackendHealthy {
			all = append(all, fmt.Sprintf("%s is %s: %s", b.Instance, b.Health, b.Why))
		}
	}
	return strings.Join(all, "; ")
}

func backendsOf(balancers []simulator.LoadBalancer) []simulator.BackendTraffic {
	var all []simulator.BackendTraffic
	for _, b := range balancers {
		if b.Traffic != nil {
			all = append(all, b.Traffic.Backends...)
		}
	}
	return all
}
