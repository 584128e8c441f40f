package faults

import (
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// FuzzFault checks two properties of each accepted fault: a second check changes
// nothing, and the fault never delays a call by a negative time.
func FuzzFault(f *testing.F) {
	for _, seed := range []string{
		`{"name":"slow","kind":"latency","latency":"30ms","jitter":"1s"}`, `{"name":"q","kind":"throttle","rate":1e-300}`,
		`{"name":"q","kind":"throttle","rate":1e300,"burst":3}`, `{"name":"q","kind":"throttle","rate":2,"burst":3,"tokens":0}`, `{"name":"d","kind":"denied","status":401}`,
		`{"name":"m","kind":"stale","match":"node-[","age":"1m"}`, `{"name":"m","kind":"emptyList","match":"node-1*"}`,
		`{"name":"t","kind":"truncatedList","fraction":0.9}`, `{"name":"p","kind":"error","probability":0.5,"skip":1,"count":2}`,
		`{"name":"c","kind":"invisible","calls":["CreateInstance"]}`, `{"name":"","kind":"hang"}`, `{"name":"x","kind":"x"}`,
		`{"name":"over","kind":"latency","latency":"2562047h","jitter":"2562047h"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		wanted, err := input.Decode[wire.Fault](body)
		if err != nil {
			return
		}
		kept, err := checked(wanted)
		if err != nil {
			return
		}
		again, err := checked(kept)
		diff(t, "error of a second check", nil, err)
		diff(t, "second check", kept, again)
		set := New(1)
		if err := set.Set(wanted, time.Unix(0, 0)); err != nil {
			t.Fatalf("%s: checked, and not set: %v", body, err)
		}
		for _, call := range wire.CallNames() {
			fate := set.Decide(call, state.Subject{Names: []string{"node-1"}}, time.Unix(0, 0))
			if fate.Delay < 0 {
				t.Fatalf("%s: a call is delayed by %s", body, fate.Delay)
			}
		}
	})
}
