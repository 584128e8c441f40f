package doctor

import (
	"bytes"
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Explain returns the objects that wait, with the reasons, for a bundle. The bundle has
// the JSON of the result without secrets.
type Explain func(*View) any

// observeForBundle reads the data that only a bundle needs: volumes, the events about
// volumes, and those events about Nodes and Services that are not warnings.
func observeForBundle(ctx context.Context, client kubernetes.Interface, v *View) {
	o := newObserver(client, metav1.NamespaceAll, mostPages)
	o.view = v
	reads := []func(context.Context){o.volumes}
	if _, missing := v.Missing[Events]; !missing {
		reads = append(reads, o.otherEvents)
	}
	o.together(ctx, reads...)
}

func (o *observer) volumes(ctx context.Context) {
	all := read(ctx, o, Volumes, o.pages, metav1.ListOptions{}, func(ctx context.Context, of metav1.ListOptions) ([]corev1.PersistentVolume, string, error) {
		l, err := o.client.CoreV1().PersistentVolumes().List(ctx, of)
		if err != nil {
			return nil, "", err
		}
		return l.Items, l.Continue, nil
	})
	o.with(func(v *View) { v.Volumes = all })
}

func (o *observer) otherEvents(ctx context.Context) {
	for _, selector := range []string{
		"involvedObject.kind=Service,type=" + corev1.EventTypeNormal,
		"involvedObject.kind=Node,type=" + corev1.EventTypeNormal,
		"involvedObject.kind=PersistentVolume",
	} {
		all := o.eventsOf(ctx, OtherEvents, selector)
		o.with(func(v *View) { v.OtherEvents = append(v.OtherEvents, all...) })
	}
}

// DaemonLease returns the namespace/name of the daemon's Lease. If the usual Lease does
// not exist, it returns the Lease that a manager names. If no manager names one, it
// returns the usual Lease.
func (v *View) DaemonLease() string {
	const usual = metav1.NamespaceSystem + "/" + defaultLease
	if v.lease(usual) != nil {
		return usual
	}
	for _, m := range v.Managers() {
		if m.Lease != "" {
			return m.Lease
		}
	}
	return usual
}

// redactTexts encodes the value as JSON and decodes it again. In the result, each
// text is safe to show.
func redactTexts(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var all any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // a float64 cannot have every number
	if err := d.Decode(&all); err != nil {
		return nil, err
	}
	return redactText(all), nil
}

func redactText(value any) any {
	switch value := value.(type) {
	case string:
		return shown(value)
	case []any:
		for i := range value {
			value[i] = redactText(value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = redactText(value[key])
		}
	}
	return value
}
