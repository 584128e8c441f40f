package conformance

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	cloudprovider "k8s.io/cloud-provider"
)

// answerChecks returns the checks of the content of answers.
func answerChecks() []Check {
	machines := []Need{NeedMachines}
	return []Check{
		{
			ID: "instances/addresses", Level: Core, Since: "0.2", Needs: machines, run: addresses,
			Title:  "Addresses are valid and without duplicates, and their order stays the same",
			Source: sourceAnswers, Cost: "The address of a Node changes each time the provider is asked, or the API server refuses it.",
		},
		{
			ID: "instances/labels", Level: Core, Since: "0.2", Needs: machines, run: labels,
			Title:  "Type, zone, region and labels are valid and stay the same, and no label is one of Kubernetes' own",
			Source: sourceAnswers, Cost: "The API server refuses the Node, or volumes are looked for in another zone.",
		},
		{
			ID: "instances/no-alias", Level: Core, Since: "0.2", Needs: machines, run: noAlias,
			Title:  "If the caller changes a result or an argument, the provider is not affected, and the provider changes no argument",
			Source: "Go: memory that two goroutines share; the Node comes from an informer's cache", Cost: "Answers get mixed up, and the daemon's cache is corrupted.",
		},
		{
			ID: "instances/parallel", Level: Core, Since: "0.2", Needs: machines, run: parallel,
			Title:  "Sixteen callers at once get the same answers as one",
			Source: "the daemon calls from several workers", Cost: "The daemon crashes, or a Node gets the answer about another Node.",
		},
	}
}

// metadataOf waits until the provider finds the machine, and returns its metadata.
func (t *trial) metadataOf(m Machine) *cloudprovider.InstanceMetadata {
	t.eventually(func() error { return t.is(joined(m), m) })
	return t.metadata(joined(m))
}

func addresses(t *trial) {
	m := t.machine("a")
	first := t.metadataOf(m).NodeAddresses
	seen := map[corev1.NodeAddress]bool{}
	hostnames := 0
	for _, a := range first {
		if seen[a] {
			t.errorf("InstanceMetadata(%s) has the address %v twice", show(joined(m)), a)
		}
		seen[a] = true
		switch a.Type {
		case corev1.NodeInternalIP, corev1.NodeExternalIP:
			if _, err := netip.ParseAddr(a.Address); err != nil {
				t.errorf("InstanceMetadata(%s): address %v is no IP address", show(joined(m)), a)
			}
		case corev1.NodeHostName:
			hostnames++
		case corev1.NodeInternalDNS, corev1.NodeExternalDNS:
		default:
			t.errorf("InstanceMetadata(%s): address %v has a type that Kubernetes does not know", show(joined(m)), a)
		}
	}
	if hostnames > 1 {
		t.errorf("InstanceMetadata(%s) has %d addresses of type Hostname; want at most one", show(joined(m)), hostnames)
	}
	// One repetition is not enough: if a provider keeps its addresses in a map, two
	// answers may have the same order by chance.
	for range 20 {
		if again := t.metadata(joined(m)).NodeAddresses; !slices.Equal(first, again) {
			t.failf("InstanceMetadata(%s) returned the addresses %v first and %v later", show(joined(m)), first, again)
		}
	}
}

func labels(t *trial) {
	m := t.machine("a")
	first := t.metadataOf(m)
	for what, value := range map[string]string{"InstanceType": first.InstanceType, "Zone": first.Zone, "Region": first.Region} {
		for _, why := range validation.IsValidLabelValue(value) {
			t.errorf("InstanceMetadata(%s): %s %q: %s", show(joined(m)), what, value, why)
		}
	}
	for key, value := range first.AdditionalLabels {
		for _, why := range slices.Concat(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)) {
			t.errorf("InstanceMetadata(%s): label %s=%s: %s", show(joined(m)), key, value, why)
		}
		if domain, _, _ := strings.Cut(key, "/"); reserved(domain) && strings.Contains(key, "/") {
			t.errorf("InstanceMetadata(%s): label %s: this domain is Kubernetes' own", show(joined(m)), key)
		}
	}
	for range 10 {
		again := t.metadata(joined(m))
		if again.InstanceType != first.InstanceType || again.Zone != first.Zone || again.Region != first.Region || !maps.Equal(again.AdditionalLabels, first.AdditionalLabels) {
			t.failf("InstanceMetadata(%s) returned %+v first and %+v later", show(joined(m)), first, again)
		}
	}
}

// reserved reports whether a domain of labels belongs to Kubernetes.
func reserved(domain string) bool {
	for _, own := range []string{"kubernetes.io", "k8s.io"} {
		if domain == own || strings.HasSuffix(domain, "."+own) {
			return true
		}
	}
	return false
}

func noAlias(t *trial) {
	m := t.machine("a")
	before := t.metadataOf(m)
	kept := *before
	kept.NodeAddresses, kept.AdditionalLabels = slices.Clone(before.NodeAddresses), maps.Clone(before.AdditionalLabels)
	n := joined(m)
	untouched := n.DeepCopy()
	for _, call := range []func(){
		func() { t.metadata(n) },
		func() { _ = t.present(n) },
		func() { _ = t.down(n, false) },
	} {
		if call(); !reflect.DeepEqual(n, untouched) {
			t.failf("a call has changed the Node that it was given to %+v", n)
		}
	}
	for i := range before.NodeAddresses {
		before.NodeAddresses[i].Address = "192.0.2.255"
	}
	for key := range before.AdditionalLabels {
		before.AdditionalLabels[key] = "changed"
	}
	before.Zone, before.ProviderID = "changed", "changed"
	if after := t.metadata(joined(m)); !reflect.DeepEqual(*after, kept) {
		t.failf("after a caller has changed what it got, InstanceMetadata(%s) is %+v; want %+v", show(joined(m)), *after, kept)
	}
}

func parallel(t *trial) {
	const callers = 16
	machines := []Machine{t.machine("a"), t.machine("b"), t.machine("c")}
	for _, m := range machines {
		t.metadataOf(m)
	}
	var wait sync.WaitGroup
	problems := make([]error, callers)
	for caller := range callers {
		wait.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					problems[caller] = fmt.Errorf("panic: %v", p)
				}
			}()
			problems[caller] = t.manyQuestions(machines[caller%len(machines)])
		})
	}
	wait.Wait()
	for _, err := range problems {
		if err != nil {
			t.errorf("%d callers at once: %v", callers, err)
		}
	}
}

// manyQuestions calls each method of InstancesV2 several times for a machine that runs.
func (t *trial) manyQuestions(m Machine) error {
	for range 5 {
		for _, n := range []*corev1.Node{joined(m), named(m)} {
			for _, question := range []func() error{
				func() error { return t.present(n) },
				func() error { return t.is(n, m) },
				func() error { return t.down(n, false) },
			} {
				if err := question(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
