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

// answerChecks are the checks of the content of answers.
var answerChecks = []Check{
	{
		ID: "instances/addresses", Level: Core, Needs: needs(needMachines), Source: sourceAnswers,
		Title: "Addresses are valid and without duplicates, and their order stays the same",
		Cost:  "The address of a Node changes each time the provider is asked, or the API server refuses it.",
		run: func(t *trial) {
			t.sameAnswers(func(m *cloudprovider.InstanceMetadata) []string {
				var problems []string
				count := map[any]int{}
				for _, a := range m.NodeAddresses {
					count[a]++
					count[a.Type]++
					if why := wrongAddress(a); why != "" {
						problems = append(problems, fmt.Sprintf("address %v %s", a, why))
					}
					if count[a] == 2 || a.Type == corev1.NodeHostName && count[a.Type] == 2 {
						problems = append(problems, fmt.Sprintf("address %v is there twice, or is a second host name", a))
					}
				}
				return problems
			}, func(m *cloudprovider.InstanceMetadata) any { return m.NodeAddresses })
		},
	},
	{
		ID: "instances/ip", Level: Core, Needs: needs(needMachines), Source: sourceAnswers,
		Title: "An answer that names addresses has an IP address among them",
		Cost:  "While the cloud knows only a host name, the Node loses its IP addresses, and load balancers lose the Node.",
		run: func(t *trial) {
			m := t.machine("a")
			t.metadataOf(m)
			for n := range 20 {
				got := t.metadata(both(m)[n%2]).NodeAddresses
				if len(got) > 0 && !slices.ContainsFunc(got, isIP) {
					t.failf("InstanceMetadata(%s) has the addresses %v; want an IP address, or none at all while the cloud knows none", show(both(m)[n%2]), got)
				}
			}
		},
	},
	{
		ID: "instances/labels", Level: Core, Needs: needs(needMachines), Source: sourceAnswers,
		Title: "Type, zone, region and labels are valid and stay the same, and no label is one of Kubernetes' own",
		Cost:  "The API server refuses the Node, or volumes are looked for in another zone.",
		run: func(t *trial) {
			t.sameAnswers(func(m *cloudprovider.InstanceMetadata) []string {
				problems := slices.Concat(validation.IsValidLabelValue(m.InstanceType), validation.IsValidLabelValue(m.Zone), validation.IsValidLabelValue(m.Region))
				for key, value := range m.AdditionalLabels {
					for _, why := range slices.Concat(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)) {
						problems = append(problems, fmt.Sprintf("label %s=%s: %s", key, value, why))
					}
					if domain, _, named := strings.Cut(key, "/"); named && reserved(domain) {
						problems = append(problems, fmt.Sprintf("label %s: this domain is Kubernetes' own", key))
					}
				}
				return problems
			}, func(m *cloudprovider.InstanceMetadata) any {
				without := *m
				without.NodeAddresses = nil
				return without
			})
		},
	},
	{
		ID: "instances/no-alias", Level: Core, Needs: needs(needMachines),
		Title:  "If the caller changes a result or an argument, the provider is not affected, and the provider changes no argument",
		Source: "Go: memory that two goroutines share; the Node comes from an informer's cache",
		Cost:   "Answers get mixed up, and the daemon's cache is corrupted.",
		run: func(t *trial) {
			m := t.machine("a")
			before := t.metadataOf(m)
			kept := *before
			kept.NodeAddresses, kept.AdditionalLabels = slices.Clone(before.NodeAddresses), maps.Clone(before.AdditionalLabels)
			for _, question := range t.questions(m) {
				n := joined(m)
				if _ = question(n); !reflect.DeepEqual(n, joined(m)) {
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
		},
	},
	{
		ID: "instances/parallel", Level: Core, Needs: needs(needMachines), Source: "the daemon calls from several workers",
		Title: "Sixteen callers at once get the same answers as one",
		Cost:  "The daemon crashes, or a Node gets the answer about another Node.",
		run: func(t *trial) {
			const callers = 16
			var questions [][]func() error // for each machine those that one caller gets the right answer to
			for _, m := range t.machines(roles(3)...) {
				t.metadataOf(m)
				questions = append(questions, t.answered(m))
			}
			var wait sync.WaitGroup
			for caller := range callers {
				wait.Go(func() {
					defer t.recovered("sixteen callers at once")
					all := questions[caller%len(questions)]
					for n := range 30 {
						if err := all[n%len(all)](); err != nil {
							t.errorf("%d callers at once: %v", callers, err)
							return
						}
					}
				})
			}
			wait.Wait()
		},
	},
}

// questions returns a function for each method of InstancesV2. The function calls the
// method about a machine that runs, and returns an error if the answer is wrong.
func (t *trial) questions(m Machine) []func(*corev1.Node) error {
	return []func(*corev1.Node) error{
		t.present,
		func(n *corev1.Node) error { return t.is(n, m) },
		func(n *corev1.Node) error { return t.down(n, false) },
	}
}

// answered returns the questions about a machine that runs, each with and without its
// provider ID, that the provider answers as it should.
func (t *trial) answered(m Machine) (all []func() error) {
	for _, question := range t.questions(m) {
		for _, n := range both(m) {
			if question(n) == nil {
				all = append(all, func() error { return question(n.DeepCopy()) })
			}
		}
	}
	if len(all) == 0 {
		t.failf("the provider answers no question about machine %s", m.Name)
	}
	return all
}

// metadataOf waits until the provider finds the machine, and returns its metadata.
func (t *trial) metadataOf(m Machine) *cloudprovider.InstanceMetadata {
	t.eventually(func() error { return t.is(joined(m), m) })
	return t.metadata(joined(m))
}

// sameAnswers fails the check for each problem that the first function finds in the
// metadata of a machine. It also fails if what the second function shows is not the same
// each time. One repetition is not enough: if a provider keeps its addresses in a map, two
// answers may have the same order by chance.
func (t *trial) sameAnswers(problems func(*cloudprovider.InstanceMetadata) []string, shown func(*cloudprovider.InstanceMetadata) any) {
	m := t.machine("a")
	first := t.metadataOf(m)
	for _, why := range problems(first) {
		t.errorf("InstanceMetadata(%s) = %+v: %s", show(joined(m)), *first, why)
	}
	for range 20 {
		if again := t.metadata(joined(m)); !reflect.DeepEqual(shown(first), shown(again)) {
			t.failf("InstanceMetadata(%s) returned %+v first and %+v later", show(joined(m)), shown(first), shown(again))
		}
	}
}

// isIP reports whether the address is an IP address.
func isIP(a corev1.NodeAddress) bool {
	return a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP
}

// isFormatted reports whether package fmt has written a text for a value that was not
// there, or that was of another kind.
func isFormatted(text string) bool {
	return strings.Contains(text, "<nil>") || strings.Contains(text, "%!")
}

// wrongAddress says what is wrong with an address, or returns "".
func wrongAddress(a corev1.NodeAddress) string {
	switch a.Type {
	case corev1.NodeInternalIP, corev1.NodeExternalIP:
		if ip, err := netip.ParseAddr(a.Address); err != nil || ip.IsUnspecified() {
			return "is no IP address"
		}
	case corev1.NodeHostName, corev1.NodeInternalDNS, corev1.NodeExternalDNS:
		if strings.TrimSpace(a.Address) == "" || isFormatted(a.Address) {
			return "is no name"
		}
	default:
		return "has a type that Kubernetes does not know"
	}
	return ""
}

// reserved reports whether a domain of labels belongs to Kubernetes.
func reserved(domain string) bool {
	return slices.ContainsFunc([]string{"kubernetes.io", "k8s.io"}, func(own string) bool {
		return domain == own || strings.HasSuffix(domain, "."+own)
	})
}

// costChecks are the checks that count calls to the cloud.
var costChecks = []Check{
	{
		ID: "cost/twenty-in-a-row", Level: Measured, Needs: needs(needMachines, needMeter), Source: sourceNone,
		Title: "How many reads twenty equal questions make, one after the other",
		Cost:  costQuota,
		run: func(t *trial) {
			n := joined(t.machine("a"))
			t.awaitPresent(n)
			t.measureReads("readsFor20InARow", 20, 1, n)
		},
	},
	{
		ID: "cost/twenty-at-once", Level: Measured, Needs: needs(needMachines, needMeter), Source: sourceNone,
		Title: "How many reads twenty equal questions make at the same time",
		Cost:  costQuota,
		run: func(t *trial) {
			n := joined(t.machine("a"))
			t.awaitPresent(n)
			t.measureReads("readsFor20AtOnce", 20, 20, n)
		},
	},
	{
		ID: "cost/sync-of-100", Level: Measured, Needs: needs(needMachines, needMeter), Source: sourceNone,
		Title: "How many reads it takes to ask about each of 100 Nodes",
		Cost:  costQuota,
		run: func(t *trial) {
			if t.target.Live {
				t.notRunf("creates 100 machines, which costs too much in a real account")
			}
			var nodes []*corev1.Node
			for _, m := range t.machines(roles(100)...) {
				nodes = append(nodes, joined(m))
			}
			t.awaitPresent(nodes[len(nodes)-1])
			t.restart()
			t.measureReads("readsPerSync100", len(nodes), 1, nodes...)
		},
	},
	{
		ID: "cost/accessors", Level: Core, Needs: needs(needMeter),
		Title:  "The accessors make no calls, give the same answer each time, and return no nil with true",
		Source: "cloudprovider.Interface: each accessor also returns true if the interface is supported",
		Cost:   "The daemon panics, or makes one more call each time it looks at a Node.",
		run: func(t *trial) {
			calls := t.counted(t.callAccessors)
			if calls.Reads+calls.Writes > 0 {
				t.errorf("1,000 calls of each accessor have made %d calls of the cloud; want none", calls.Reads+calls.Writes)
			}
		},
	},
}

// measureReads asks n times whether an instance exists, with at most the given number of
// calls at a time, and measures the calls of the cloud.
func (t *trial) measureReads(key string, n, most int, nodes ...*corev1.Node) {
	calls := t.counted(func() {
		t.together(n, most, key, func(i int) error {
			_, _ = t.exists(t.ctx, nodes[i%len(nodes)]) // other checks judge the answer
			return nil
		})
	})
	t.measure(key, float64(calls.Reads))
}

func (t *trial) callAccessors() {
	for name, accessor := range map[string]func() (any, bool){
		"InstancesV2":  func() (any, bool) { return t.provider.InstancesV2() },
		"LoadBalancer": func() (any, bool) { return t.provider.LoadBalancer() },
		"Routes":       func() (any, bool) { return t.provider.Routes() },
		"Instances":    func() (any, bool) { return t.provider.Instances() },
		"Zones":        func() (any, bool) { return t.provider.Zones() },
		"Clusters":     func() (any, bool) { return t.provider.Clusters() },
	} {
		_, first := accessor()
		for range 1000 {
			value, supported := accessor()
			switch {
			case supported != first:
				t.failf("%s() returned %v and then %v", name, first, supported)
			case supported && isNil(value):
				t.failf("%s() = nil, true", name)
			}
		}
	}
	if t.provider.ProviderName() == "" {
		t.errorf("ProviderName() is empty")
	}
	_ = t.provider.HasClusterID()
}

// isNil reports whether a value is nil, or holds a nil pointer.
func isNil(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}
