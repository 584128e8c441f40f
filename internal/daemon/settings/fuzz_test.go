package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// FuzzClusterCIDRs parses --cluster-cidr. The result is an error, or one or two masked
// prefixes. Two prefixes are of different families.
func FuzzClusterCIDRs(f *testing.F) {
	for _, seed := range []string{
		"", "10.244.0.0/16", "10.244.1.1/16", "10.244.0.0/16,fd00::/48", "fd00::/48, 10.244.0.0/16", "10.244.0.0/16,",
		"10.244.0.0", "10.244.0.0/33", "::ffff:10.0.0.0/104", "fe80::1%eth0/64", "10.244.0.0/16,10.0.0.0/16", ",,",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := newRoute()
		r.clusterCIDR = text
		got, err := r.clusters()
		if err != nil {
			return
		}
		if len(got) == 0 || len(got) > 2 {
			t.Fatalf("got %v", got)
		}
		if len(got) != strings.Count(text, ",")+1 {
			t.Errorf("got %v, which skips a part of the text", got)
		}
		for _, cidr := range got {
			if !cidr.IsValid() || cidr != cidr.Masked() {
				t.Errorf("got %v", cidr)
			}
		}
		if len(got) == 2 && got[0].Addr().Is4() == got[1].Addr().Is4() {
			t.Errorf("got %v, two of one family", got)
		}
	})
}

// FuzzControllers parses the entries of --controllers. A controller runs only if an
// entry chooses it. A wrong entry is an error.
func FuzzControllers(f *testing.F) {
	for _, seed := range []string{"*", "", "-", "*,-cloud-node", "cloud-node,-cloud-node-controller", "-*", "service,service", "foo", "*,-foo", "--cloud-node"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := newControllers(Ours())
		c.chosen = strings.Split(text, ",")
		errs := c.validate()
		for _, k := range c.Enabled() {
			if !slices.ContainsFunc(c.chosen, func(entry string) bool { return entry == "*" || entry == k.Name || entry == k.Alias }) {
				t.Errorf("%s runs, although no entry chooses it", k.Name)
			}
		}
		unknown := slices.ContainsFunc(c.chosen, func(entry string) bool {
			_, ok := c.canonical(strings.TrimPrefix(entry, "-"))
			return !ok && entry != "*"
		})
		adds := slices.ContainsFunc(c.chosen, func(entry string) bool { return !strings.HasPrefix(entry, "-") })
		if (unknown || !adds) != (len(errs) > 0) {
			t.Errorf("got errors %v for an unknown entry: %t, an entry that adds controllers: %t", errs, unknown, adds)
		}
	})
}

// FuzzLabelReconcile parses --node-label-reconcile. If a value is accepted, its text
// parses to the same value.
func FuzzLabelReconcile(f *testing.F) {
	for _, seed := range []string{"type", "additional", "type,additional", "additional,type", "none", "", "type,none", "type,,", "remove", "additional,remove"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var set, again labelReconcile
		if set.Set(text) != nil {
			return
		}
		if err := again.Set(set.String()); err != nil || again != set {
			t.Errorf("%q is printed as %q, which means %v, error %v", text, set.String(), again, err)
		}
	})
}

// FuzzMigrationFile reads a LeaderMigrationConfiguration. If the file is accepted,
// its lease is not the main lease.
func FuzzMigrationFile(f *testing.F) {
	const head = "kind: LeaderMigrationConfiguration\napiVersion: controllermanager.config.k8s.io/"
	for _, seed := range []string{
		"", "{", head + "v1\nleaderName: m", head + "v1\nleaderName: cloud-controller-manager", head + "v1\nleaderName: m\ncolour: red",
		head + "v1beta1\nleaderName: m\nresourceLock: endpoints", head + "v1\ncontrollerLeaders: [{}]", head + "v2",
		head + "v1alpha1\nresourceLock: leases\nleaderName: m\ncontrollerLeaders: [{name: b, component: '*'}]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "migration.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		e := newElection()
		m := Migration{election: &e, enabled: true, file: file}
		if errs := m.validate(); len(errs) == 0 && (m.Plan() == nil || m.Plan().LeaderName == "" || m.Plan().LeaderName == e.ResourceName) {
			t.Errorf("accepted %+v", m.Plan())
		}
	})
}
