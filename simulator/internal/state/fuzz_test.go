package state

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// The stored form of an accepted request is accepted again, and a second check does not
// change it. Otherwise a saved state could not be restored.

func FuzzInstance(f *testing.F) {
	for _, seed := range []string{
		`{"name":"node-1"}`, `{"name":"node-1","zone":"z","region":"r","type":"t","labels":{"a":"b"}}`,
		`{"name":"n","addresses":[{"type":"InternalIP","address":"::ffff:10.0.0.1"},{"type":"Hostname","address":"n"}]}`,
		`{"name":"n","addresses":[{"type":"ExternalIP","address":"fe80::1%eth0"}]}`, `{"name":"n","labels":{"":"x"}}`,
		`{"name":"a,b"}`, `{"name":"n","region":"a/b"}`, `{"name":"n","id":"i-00000001"}`, `{"name":"n","state":"running"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		wanted, err := input.Decode[wire.Instance](body)
		if err != nil {
			return
		}
		kept, err := newInstance(wanted)
		if err != nil {
			return
		}
		again, err := checkedInstance(kept)
		same(t, kept, again, err)
		for _, a := range kept.Addresses {
			if ip, err := netip.ParseAddr(a.Address); isIP(a) && (err != nil || ip.Is4In6() || ip.Zone() != "") {
				t.Fatalf("%s: the address %q is kept", body, a.Address)
			}
		}
	})
}

func FuzzLoadBalancer(f *testing.F) {
	for _, seed := range []string{
		`{"name":"web","listeners":[{"protocol":"TCP","port":80,"backendPort":30080}]}`,
		`{"name":"web","listeners":[{"protocol":"UDP","port":53,"backendPort":30053}],"backends":["i-00000002","i-00000001","i-00000001"]}`,
		`{"name":"web","listeners":[{"protocol":"TCP","port":80,"backendPort":30080}],"sourceRanges":["10.1.2.3/8","10.0.0.0/8"]}`,
		`{"name":"web","listeners":[{"protocol":"TCP","port":80,"backendPort":30080}],"sourceRanges":[]}`,
		`{"name":"web","listeners":[{"protocol":"TCP","port":65536,"backendPort":-1}]}`,
		`{"name":"web","listeners":[{"protocol":"TCP","port":80,"backendPort":30080}],"drain":"-1s","affinity":"1h","healthCheck":{"port":1,"path":"/"}}`,
		`{"name":"web","tags":{"a=b":"c"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		wanted, err := input.Decode[wire.LoadBalancer](body)
		if err != nil {
			return
		}
		kept, err := newLoadBalancer(wanted)
		if err != nil {
			return
		}
		again, err := checkedLoadBalancer(kept)
		same(t, kept, again, err)
		if len(kept.SourceRanges) == 0 {
			t.Fatalf("%s: the stored source ranges are empty, which could mean everyone", body)
		}
		for _, r := range kept.SourceRanges {
			if _, err := netip.ParsePrefix(r); err != nil {
				t.Fatalf("%s: the range %q is kept", body, r)
			}
		}
	})
}

func FuzzRoute(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a","destination":"10.244.1.7/24","target":"i-00000001"}`, `{"name":"a","destination":"pl-00000001"}`,
		`{"name":"a","destination":"fd00::1/64","state":"blackhole"}`, `{"name":"a","destination":"10.244.1.0/33"}`,
		`{"name":"a","destination":"10.244.1.0/24","target":"node-1"}`, `{"name":"a","destination":"ä"}`,
		`{"name":"a","destination":"10.0.0.0/8","targetAddresses":[{"type":"InternalIP","address":"10.0.0.1"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		wanted, err := input.Decode[wire.Route](body)
		if err != nil {
			return
		}
		kept, err := newRoute(wanted)
		if err != nil {
			return
		}
		again, err := checkedRoute(kept)
		same(t, kept, again, err)
	})
}

func FuzzID(f *testing.F) {
	for _, seed := range []string{"i-00000001", "i-99999999", "i-100000000", "i-000000001", "i-+0000001", "lb-00000001", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if number, ok := instanceIDs.number(id); ok && instanceIDs.id(number) != id {
			t.Fatalf("%q is read as %d, which is written %q", id, number, instanceIDs.id(number))
		}
	})
}

func same(t *testing.T, kept, again any, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%+v is kept, and refused when it is checked again: %v", kept, err)
	}
	if d := cmp.Diff(kept, again, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("a second check changes what is kept (-first +second):\n%s", d)
	}
}
