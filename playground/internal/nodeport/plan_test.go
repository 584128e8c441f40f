package nodeport

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
)

var exact = []cmp.Option{
	cmp.AllowUnexported(action{}, door{}, answer{}), cmpopts.EquateComparable(netip.AddrPort{}),
}

func at(address string) door { return door{corev1.ProtocolTCP, netip.MustParseAddrPort(address)} }

func TestPlan(t *testing.T) {
	type doors = map[door]answer
	one, two := at("127.0.1.1:30080"), at("127.0.1.2:30080")
	hello := answer{node: "a", about: "Service shop/web, port 80", status: 200, body: "hello"}
	other, shut := hello, hello
	other.body = "other"
	shut.closed = "no endpoint is ready"
	begin := func(d door) action { return action{listen, d, hello, "Service shop/web, port 80"} }
	gone := func(d door) action {
		return action{leave, d, hello, "the node or the Service is gone, or the machine is off"}
	}
	for name, test := range map[string]struct {
		wanted, open doors
		want         []action
	}{
		"NothingIsNothing":            {nil, nil, nil},
		"WantedDoorIsOpened":          {doors{one: hello}, nil, []action{begin(one)}},
		"OpenDoorStays":               {doors{one: hello}, doors{one: hello}, nil},
		"DoorThatNobodyWantsIsLeft":   {nil, doors{one: hello}, []action{gone(one)}},
		"ClosedDoorIsLeft":            {doors{one: shut}, doors{one: hello}, []action{{leave, one, hello, "no endpoint is ready"}}},
		"ClosedDoorStaysClosed":       {doors{one: shut}, nil, nil},
		"AnswerChangesWithoutClosing": {doors{one: other}, doors{one: hello}, []action{{say, one, other, "the cluster has changed"}}},
		"EndsComeFirst":               {doors{one: hello}, doors{two: hello}, []action{gone(two), begin(one)}},
		"InOrder":                     {doors{two: hello, one: hello}, nil, []action{begin(one), begin(two)}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, plan(test.wanted, test.open), exact...); diff != "" {
				t.Error(diff)
			}
		})
	}
}
