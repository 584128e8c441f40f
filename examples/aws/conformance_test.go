package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	aws "k8s.io/cloud-provider-aws/pkg/providers/v1"
	"k8s.io/controller-manager/pkg/clientbuilder"

	"github.com/fairlead-k8s/fairlead/provider/conformance"

	"github.com/fairlead-k8s/fairlead/examples/aws/ec2test"
)

// The provider passes the checks of instances of the conformance suite, except for the
// checks in ExpectFailure. All checks run at the same time, because the provider is
// slow: to combine calls, it waits a tenth of a second before each call.
func TestConformance(t *testing.T) {
	for _, variable := range environment() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	for _, check := range conformance.Checks() {
		if !strings.HasPrefix(check.ID, "instances/") {
			continue
		}
		t.Run(check.ID, func(t *testing.T) {
			t.Parallel()
			conformance.Test(t, target(), conformance.Options{Only: []string{check.ID}, Timeout: soon, ExpectFailure: map[string]string{
				"instances/gone-metadata":                 "the provider returns the metadata of a terminated instance as long as EC2 lists it",
				"instances/gone-metadata-kind":            "the provider returns the metadata of a terminated instance as long as EC2 lists it",
				"instances/fault-is-error: fault garbage": "the SDK reads a page of HTML as an empty answer, and the provider takes that for absent",
				"instances/kinds":                         "the provider's errors have the text of the SDK's errors, and do not wrap them",
			}})
		})
	}
}

func target() conformance.Target {
	return conformance.Target{
		Name:  aws.ProviderName,
		World: func(context.Context) (any, error) { return newWorld(), nil },
		New: func(ctx context.Context, w any) (cloudprovider.Interface, error) {
			url := w.(*world).server.URL
			made, err := cloudprovider.GetCloudProvider(aws.ProviderName, strings.NewReader(config(url)))
			if err != nil {
				return nil, err
			}
			made.Initialize(clientbuilder.SimpleControllerClientBuilder{ClientConfig: &rest.Config{Host: url}}, ctx.Done())
			return made, nil
		},
		EventuallyWithin: 10 * time.Second, // The fake shows a change at once, but a busy machine needs seconds for a call.
	}
}

// world is a fake of EC2 whose calls can be made to fail.
type world struct {
	ec2    *ec2test.Endpoint
	server *httptest.Server

	mu       sync.Mutex
	fault    *conformance.Fault // guarded by mu
	launched int                // guarded by mu
}

func newWorld() *world {
	w := &world{ec2: &ec2test.Endpoint{ClusterID: clusterID}}
	w.server = httptest.NewServer(w)
	return w
}

// Close implements io.Closer.
func (w *world) Close() error {
	w.server.CloseClientConnections() // ends the calls that hang
	w.server.Close()
	return nil
}

// CreateMachine implements conformance.Machines. The name becomes the private DNS
// name of the instance.
func (w *world) CreateMachine(_ context.Context, name string) (conformance.Machine, error) {
	w.mu.Lock()
	w.launched++
	n := w.launched
	w.mu.Unlock()
	i := instance(fmt.Sprintf("i-%017x", n), fmt.Sprintf("10.0.0.%d", n), ec2test.Running)
	i.PrivateDNS = name
	w.ec2.Put(i)
	return conformance.Machine{Name: name, ID: i.ID, ProviderID: "aws:///" + i.Zone + "/" + i.ID}, nil
}

// TerminateMachine implements conformance.Machines. EC2 still lists the instance
// afterwards.
func (w *world) TerminateMachine(_ context.Context, m conformance.Machine) error {
	return w.change(m, func(i *ec2test.Instance) { i.State = ec2test.Terminated })
}

// StopMachine implements conformance.PowerSwitch.
func (w *world) StopMachine(_ context.Context, m conformance.Machine) error {
	return w.change(m, func(i *ec2test.Instance) { i.State = ec2test.Stopped })
}

// StartMachine implements conformance.PowerSwitch.
func (w *world) StartMachine(_ context.Context, m conformance.Machine) error {
	return w.change(m, func(i *ec2test.Instance) { i.State = ec2test.Running })
}

// UntagMachine implements conformance.Retagger.
func (w *world) UntagMachine(_ context.Context, m conformance.Machine) error {
	return w.change(m, func(i *ec2test.Instance) { i.Untagged = true })
}

func (w *world) change(m conformance.Machine, change func(*ec2test.Instance)) error {
	if i, ok := w.ec2.Instance(m.ID); ok {
		change(&i)
		w.ec2.Put(i)
	}
	return nil
}

// SetFault implements conformance.Faulter.
func (w *world) SetFault(_ context.Context, f conformance.Fault) (restore func(), err error) {
	if answers()[f.Kind] == nil || f.RetryAfter > 0 { // EC2 never says how long to wait
		return nil, conformance.ErrCannot
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = &f
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.fault = nil
	}, nil
}

// ServeHTTP implements http.Handler.
func (w *world) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // the SDK sends forms that can be parsed
	w.hit(r).ServeHTTP(to, r)
}

// hit returns the handler that answers this call: EC2, or the fault that is set. It
// also counts down the number of calls that the fault still skips, and the number of
// calls to which it still applies.
func (w *world) hit(r *http.Request) http.Handler {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.fault
	switch {
	case f == nil, f.Kind == conformance.FaultEmptyList && r.PostForm.Has("InstanceId.1"): // not a list
		return w.ec2
	case f.Skip > 0:
		f.Skip--
		return w.ec2
	case f.Count == 1:
		w.fault = nil
	case f.Count > 1:
		f.Count--
	}
	return answers()[f.Kind]
}

// answers returns, for each kind of fault, the handler that answers calls while a
// fault of this kind is set. After most of these answers the SDK does not repeat the
// call, which would take seconds.
func answers() map[conformance.FaultKind]http.HandlerFunc {
	return map[conformance.FaultKind]http.HandlerFunc{
		conformance.FaultError:           ec2test.Refuse(http.StatusInternalServerError, "InternalError"),
		conformance.FaultUnauthenticated: ec2test.Refuse(http.StatusUnauthorized, "AuthFailure"),
		conformance.FaultForbidden:       ec2test.Refuse(http.StatusForbidden, "UnauthorizedOperation"),
		conformance.FaultNotFound:        ec2test.Refuse(http.StatusBadRequest, "InvalidInstanceID.NotFound"),
		conformance.FaultGarbage:         func(to http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(to, "<html>welcome</html>") },
		conformance.FaultHang:            func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		conformance.FaultEmptyList:       ec2test.NoInstances,
	}
}
