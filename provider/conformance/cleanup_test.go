package conformance

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

// account is a cloud for Cleanup. It is both the provider and its world.
type account struct {
	cloudprovider.Interface

	machines  []Machine
	balancers []types.UID
	routes    []*cloudprovider.Route
	foreign   []Resource
	addresses []Address
	err       error // the error of all questions
	cannot    bool  // the world cannot find anything by name
}

func (a *account) InstancesV2() (cloudprovider.InstancesV2, bool) { return instancesOf{a: a}, true }

func (a *account) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return balancersOf{a: a}, true }
func (a *account) Routes() (cloudprovider.Routes, bool)             { return routesOf{a: a}, true }

func (a *account) CreateMachine(context.Context, string) (Machine, error) {
	return Machine{}, ErrCannot
}

func (a *account) TerminateMachine(_ context.Context, m Machine) error {
	a.machines = slices.DeleteFunc(a.machines, func(other Machine) bool { return other.ID == m.ID })
	return nil
}

func (a *account) FindMachine(_ context.Context, name string) ([]Machine, error) {
	if a.cannot {
		return nil, ErrCannot
	}
	return slices.DeleteFunc(slices.Clone(a.machines), func(m Machine) bool { return m.Name != name }), a.err
}

func (a *account) CreateForeign(context.Context, ResourceKind, string) (Resource, error) {
	return Resource{}, ErrCannot
}

func (a *account) ForeignExists(_ context.Context, r Resource) (bool, error) {
	return slices.ContainsFunc(a.foreign, func(other Resource) bool { return other.ID == r.ID }), a.err
}

func (a *account) DeleteForeign(_ context.Context, r Resource) error {
	a.foreign = slices.DeleteFunc(a.foreign, func(other Resource) bool { return other.ID == r.ID })
	return nil
}

func (a *account) FindForeign(_ context.Context, kind ResourceKind, what string) ([]Resource, error) {
	if a.cannot {
		return nil, ErrCannot
	}
	return slices.DeleteFunc(slices.Clone(a.foreign), func(r Resource) bool { return r.Kind != kind || r.Name != what }), a.err
}

func (a *account) ReserveAddress(context.Context, string) (Address, error) {
	return Address{}, ErrCannot
}

func (a *account) ReleaseAddress(_ context.Context, gone Address) error {
	a.addresses = slices.DeleteFunc(a.addresses, func(other Address) bool { return other == gone })
	return nil
}

// FindAddress finds the address whose ID begins with the name.
func (a *account) FindAddress(_ context.Context, name string) ([]Address, error) {
	if a.cannot {
		return nil, ErrCannot
	}
	return slices.DeleteFunc(slices.Clone(a.addresses), func(other Address) bool { return !strings.HasPrefix(other.ID, name+"/") }), a.err
}

type instancesOf struct {
	cloudprovider.InstancesV2

	a *account
}

func (i instancesOf) InstanceMetadata(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	for _, m := range i.a.machines {
		if m.Name == n.Name {
			return &cloudprovider.InstanceMetadata{ProviderID: m.ProviderID}, i.a.err
		}
	}
	return nil, errors.Join(i.a.err, cloudprovider.InstanceNotFound)
}

func (i instancesOf) InstanceExists(_ context.Context, n *corev1.Node) (bool, error) {
	return slices.ContainsFunc(i.a.machines, func(m Machine) bool { return m.ProviderID == n.Spec.ProviderID }), i.a.err
}

type balancersOf struct {
	cloudprovider.LoadBalancer

	a *account
}

func (b balancersOf) GetLoadBalancer(_ context.Context, _ string, s *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	return nil, slices.Contains(b.a.balancers, s.UID), b.a.err
}

func (b balancersOf) EnsureLoadBalancerDeleted(_ context.Context, _ string, s *corev1.Service) error {
	b.a.balancers = slices.DeleteFunc(b.a.balancers, func(uid types.UID) bool { return uid == s.UID })
	return nil
}

type routesOf struct {
	cloudprovider.Routes

	a *account
}

func (r routesOf) ListRoutes(context.Context, string) ([]*cloudprovider.Route, error) {
	return r.a.routes, r.a.err
}

func (r routesOf) DeleteRoute(_ context.Context, _ string, gone *cloudprovider.Route) error {
	r.a.routes = slices.DeleteFunc(slices.Clone(r.a.routes), func(other *cloudprovider.Route) bool { return other.Name == gone.Name })
	return nil
}

func TestCleanupRemovesOnlyWhatTheLedgerLists(t *testing.T) {
	machine := Entry{Kind: KindMachine, Cluster: "c", Name: "fl-1-a", ID: "i-1", ProviderID: "acme://i-1"}
	unfinished := Entry{Kind: KindMachine, Cluster: "c", Name: "fl-1-a"}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "u-1"}}
	balancer := Entry{Kind: KindLoadBalancer, Cluster: "c", Name: "u-1", Service: service}
	route := Entry{Kind: KindRoute, Cluster: "c", Name: "r", Route: &cloudprovider.Route{TargetNode: "fl-1-a", DestinationCIDR: "10.0.1.0/24"}}
	other := Machine{Name: "other", ID: "i-9", ProviderID: "acme://i-9"}
	lent := Entry{Kind: KindMachine, Cluster: "c", Name: "other", ID: "i-9", Twin: true}
	lentUnfinished := Entry{Kind: KindMachine, Cluster: "c", Name: "other", Twin: true}
	ours := Machine{Name: "fl-1-a", ID: "i-1", ProviderID: "acme://i-1"}
	renamed, replaced := ours, ours
	renamed.Name, replaced.ProviderID, replaced.ID = "renamed", "acme://i-8", "i-8"
	theirRoute := &cloudprovider.Route{Name: "r-9", TargetNode: "other", DestinationCIDR: "10.0.1.0/24"}
	ourRoute := &cloudprovider.Route{Name: "r-1", TargetNode: "fl-1-a", DestinationCIDR: "10.0.1.0/24"}
	farRoute := &cloudprovider.Route{Name: "r-2", TargetNode: "fl-1-a", DestinationCIDR: "10.0.2.0/24"}
	foreign := Entry{Kind: KindLoadBalancer, Name: "lb-1", ID: "f-1", Foreign: true}
	foreignUnfinished := Entry{Kind: KindRoute, Name: "10.0.3.0/24", Foreign: true}
	ourForeign, theirForeign := Resource{Kind: KindLoadBalancer, ID: "f-1", Name: "lb-1"}, Resource{Kind: KindLoadBalancer, ID: "f-9", Name: "lb-1"}
	movedForeign := Resource{Kind: KindLoadBalancer, ID: "f-1", Name: "theirs"}
	foreignRoute := Resource{Kind: KindRoute, ID: "f-2", Name: "10.0.3.0/24"}
	secondRoute := Resource{Kind: KindRoute, ID: "f-3", Name: "10.0.3.0/24"}
	address := Entry{Kind: KindAddress, Name: "fl-1-ip", ID: "fl-1-ip/1"}
	addressUnfinished := Entry{Kind: KindAddress, Name: "fl-1-ip"}
	addressOfOthers := Entry{Kind: KindAddress, Name: "web", ID: "web/1"}
	ourAddress, theirAddress, webAddress := Address{ID: "fl-1-ip/1"}, Address{ID: "fl-1-ip/2"}, Address{ID: "web/1"}
	for name, row := range map[string]struct {
		listed          Entry
		account, stay   account
		want, wantError string
	}{
		"Machine":                      {listed: machine, account: account{machines: []Machine{ours, other}}, stay: account{machines: []Machine{other}}, want: "removed"},
		"MachineThatIsGone":            {listed: machine, account: account{machines: []Machine{other}}, stay: account{machines: []Machine{other}}, want: "was not there any more"},
		"MachineThatWasRenamed":        {listed: machine, account: account{machines: []Machine{renamed}}, stay: account{machines: []Machine{renamed}}, wantError: "under another name; it was not touched"},
		"AnotherMachineOfTheName":      {listed: machine, account: account{machines: []Machine{replaced}}, stay: account{machines: []Machine{replaced}}, want: "was not there any more"},
		"MachineUnlessTheCloudAnswers": {listed: machine, account: account{machines: []Machine{ours}, err: errors.New("503")}, stay: account{machines: []Machine{ours}}, wantError: "503"},
		"MachineByProvider":            {listed: machine, account: account{machines: []Machine{ours, other}, cannot: true}, stay: account{machines: []Machine{other}}, want: "removed"},
		"MachineByProviderGone":        {listed: machine, account: account{machines: []Machine{other}, cannot: true}, stay: account{machines: []Machine{other}}, want: "was not there any more"},
		"MachineByProviderReplaced":    {listed: machine, account: account{machines: []Machine{replaced}, cannot: true}, stay: account{machines: []Machine{replaced}}, wantError: "it was not touched"},
		"MachineByProviderRenamed":     {listed: machine, account: account{machines: []Machine{renamed}, cannot: true}, stay: account{machines: []Machine{renamed}}, wantError: "under another name; it was not touched"},
		"MachineThatWasThere":          {listed: lent, account: account{machines: []Machine{other}, cannot: true}, stay: account{machines: []Machine{other}}, wantError: "it was not touched"},
		"UnfinishedThatWasThere":       {listed: lentUnfinished, account: account{machines: []Machine{other}}, stay: account{machines: []Machine{other}}, wantError: "it was not touched"},
		"UnfinishedMachineNotFindable": {listed: unfinished, account: account{machines: []Machine{ours}, cannot: true}, stay: account{machines: []Machine{ours}}, wantError: "look for it by hand"},
		"UnfinishedMachine":            {listed: unfinished, account: account{machines: []Machine{ours, other}}, stay: account{machines: []Machine{other}}, want: "removed"},
		"UnfinishedMachineNeverMade":   {listed: unfinished, account: account{machines: []Machine{other}}, stay: account{machines: []Machine{other}}, want: "was not there any more"},
		"LoadBalancer":                 {listed: balancer, account: account{balancers: []types.UID{"u-1", "u-9"}}, stay: account{balancers: []types.UID{"u-9"}}, want: "removed"},
		"LoadBalancerThatIsGone":       {listed: balancer, account: account{balancers: []types.UID{"u-9"}}, stay: account{balancers: []types.UID{"u-9"}}, want: "was not there any more"},
		"LoadBalancerUnanswered":       {listed: balancer, account: account{balancers: []types.UID{"u-1"}, err: errors.New("503")}, stay: account{balancers: []types.UID{"u-1"}}, wantError: "503"},
		"Route": {
			listed: route, account: account{routes: []*cloudprovider.Route{ourRoute, farRoute}},
			stay: account{routes: []*cloudprovider.Route{farRoute}}, want: "removed",
		},
		"RouteToAnotherNode": {
			listed: route, account: account{routes: []*cloudprovider.Route{theirRoute}},
			stay: account{routes: []*cloudprovider.Route{theirRoute}}, wantError: "it was not touched",
		},
		"Foreign":              {listed: foreign, account: account{foreign: []Resource{ourForeign, theirForeign}}, stay: account{foreign: []Resource{theirForeign}}, want: "removed"},
		"ForeignThatIsGone":    {listed: foreign, account: account{foreign: []Resource{theirForeign}}, stay: account{foreign: []Resource{theirForeign}}, want: "was not there any more"},
		"ForeignOfAnotherName": {listed: foreign, account: account{foreign: []Resource{movedForeign}}, stay: account{foreign: []Resource{movedForeign}}, wantError: "exists under another name; it was not touched"},
		"ForeignUnanswered":    {listed: foreign, account: account{foreign: []Resource{ourForeign}, err: errors.New("503")}, stay: account{foreign: []Resource{ourForeign}}, wantError: "503"},
		"ForeignNotFindable":   {listed: foreign, account: account{foreign: []Resource{ourForeign}, cannot: true}, stay: account{foreign: []Resource{ourForeign}}, wantError: "look for it by hand"},
		"UnfinishedForeign": {
			listed: foreignUnfinished, account: account{foreign: []Resource{foreignRoute, ourForeign}},
			stay: account{foreign: []Resource{ourForeign}}, want: "removed",
		},
		"UnfinishedForeignFoundTwice": {
			listed: foreignUnfinished, account: account{foreign: []Resource{foreignRoute, secondRoute}},
			stay: account{foreign: []Resource{foreignRoute, secondRoute}}, wantError: "look for it by hand",
		},
		"UnfinishedForeignNeverMade": {listed: foreignUnfinished, account: account{foreign: []Resource{ourForeign}}, stay: account{foreign: []Resource{ourForeign}}, want: "was not there any more"},
		"Address":                    {listed: address, account: account{addresses: []Address{ourAddress, theirAddress}}, stay: account{addresses: []Address{theirAddress}}, want: "removed"},
		"AddressThatIsGone":          {listed: address, account: account{addresses: []Address{theirAddress}}, stay: account{addresses: []Address{theirAddress}}, want: "was not there any more"},
		"AddressUnanswered":          {listed: address, account: account{addresses: []Address{ourAddress}, err: errors.New("503")}, stay: account{addresses: []Address{ourAddress}}, wantError: "503"},
		"AddressNotFindable":         {listed: address, account: account{addresses: []Address{ourAddress}, cannot: true}, stay: account{addresses: []Address{ourAddress}}, wantError: "look for it by hand"},
		"AddressOfOthers":            {listed: addressOfOthers, account: account{addresses: []Address{webAddress}}, stay: account{addresses: []Address{webAddress}}, wantError: "it was not touched"},
		"UnfinishedAddress":          {listed: addressUnfinished, account: account{addresses: []Address{ourAddress, webAddress}}, stay: account{addresses: []Address{webAddress}}, want: "removed"},
		"WithoutDetails":             {listed: Entry{Kind: "disk", Name: "d"}, wantError: "the ledger does not say how it is removed"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "made.jsonl")
			write(t, path, func(l *FileLedger) error { return l.Begin(row.listed) })
			cloud := &row.account
			target := Target{
				Name:  "acme",
				World: func(context.Context) (any, error) { return cloud, nil },
				New:   func(context.Context, any) (cloudprovider.Interface, error) { return cloud, nil },
			}
			var told []string
			write(t, path, func(l *FileLedger) error {
				err := Cleanup(t.Context(), target, l, func(line string) { told = append(told, line) })
				if (err != nil) != (row.wantError != "") || err != nil && !strings.Contains(err.Error(), row.wantError) {
					t.Errorf("got error %v, want %q", err, row.wantError)
				}
				left, err := l.Left()
				if want := row.wantError != ""; (len(left) > 0) != want {
					t.Errorf("left in the ledger: %v, want that: %v", left, want)
				}
				// Cleanup can be repeated.
				return errors.Join(err, ignoring(row.wantError, Cleanup(t.Context(), target, l, func(string) {})))
			})
			if row.want != "" && (len(told) != 1 || !strings.HasSuffix(told[0], ": "+row.want)) {
				t.Errorf("told %q, want %q", told, row.want)
			}
			if d := cmp.Diff(contents(row.stay), contents(*cloud)); d != "" {
				t.Errorf("in the cloud (-want +got):\n%s", d)
			}
		})
	}
}

// contents lists the things in the cloud.
func contents(a account) []string {
	all := []string{}
	for _, m := range a.machines {
		all = append(all, m.ID)
	}
	for _, uid := range a.balancers {
		all = append(all, string(uid))
	}
	for _, r := range a.routes {
		all = append(all, r.Name)
	}
	for _, r := range a.foreign {
		all = append(all, r.ID)
	}
	for _, one := range a.addresses {
		all = append(all, one.ID)
	}
	return all
}

// ignoring returns err, or nil if the text of err contains want.
func ignoring(want string, err error) error {
	if want != "" && err != nil && strings.Contains(err.Error(), want) {
		return nil
	}
	return err
}
