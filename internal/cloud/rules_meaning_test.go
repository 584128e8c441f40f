package cloud

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What the end of a call reveals, for each kind, for a Node or a tenant's Service, and for
// each evidence: Typed, Text, Unread.
func TestMeaning(t *testing.T) {
	const a, r, f, u, o, n = answered, refused, hasFailed, unreadable, failedForTenant, saysNothing
	for kind, want := range map[Kind]struct{ node, tenant [3]meaning }{
		NotFound:       {[3]meaning{a, a, a}, [3]meaning{a, a, a}},
		Conflict:       {[3]meaning{a, a, a}, [3]meaning{a, a, a}},
		QuotaExceeded:  {[3]meaning{a, a, a}, [3]meaning{a, a, a}},
		Throttled:      {[3]meaning{r, r, r}, [3]meaning{r, r, r}},
		Pending:        {[3]meaning{a, a, a}, [3]meaning{n, n, n}},
		Invalid:        {[3]meaning{a, a, a}, [3]meaning{n, n, n}},
		Failed:         {[3]meaning{a, a, u}, [3]meaning{n, n, u}},
		Denied:         {[3]meaning{f, f, f}, [3]meaning{o, o, o}},
		Unavailable:    {[3]meaning{f, f, f}, [3]meaning{f, o, o}},
		TimedOut:       {[3]meaning{f, f, f}, [3]meaning{f, o, o}},
		NotImplemented: {[3]meaning{n, n, n}, [3]meaning{n, n, n}},
		Elsewhere:      {[3]meaning{n, n, n}, [3]meaning{n, n, n}},
		Panicked:       {[3]meaning{n, n, n}, [3]meaning{n, n, n}},
		Slow:           {[3]meaning{n, n, n}, [3]meaning{n, n, n}},
		Canceled:       {[3]meaning{n, n, n}, [3]meaning{n, n, n}},
		NoAnswer:       {[3]meaning{n, n, n}, [3]meaning{n, n, n}},
	} {
		for i, evidence := range []Evidence{Typed, Text, Unread} {
			for tenant, want := range map[string]meaning{"": want.node[i], "shop": want.tenant[i]} {
				if got := meaningFor(call{tenant: tenant}, &Error{Kind: kind, Evidence: evidence}); got != want {
					t.Errorf("%s by %q of tenant %q means %d, want %d", kind, evidence, tenant, got, want)
				}
			}
		}
	}
	for _, tt := range []struct {
		name string
		call call
		err  error
		want meaning
	}{
		{"SuccessIsAnAnswer", call{}, nil, answered},
		{"SuccessForATenantIsAnAnswer", call{tenant: "shop"}, nil, answered},
		{"ReturnOfAWatchIsNoAnswer", call{waits: true}, nil, returned},
		{"FailureOfAWatchIsAFailure", call{waits: true}, &Error{Kind: Unavailable}, hasFailed},
		{"ErrorsOfEachObjectCountOneByOne", call{}, &Error{Kind: Throttled, each: true}, saysNothing},
	} {
		if got := meaningFor(tt.call, tt.err); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestMark(t *testing.T) {
	for _, tt := range []struct {
		name   string
		effect effect
		err    error
		want   error
	}{
		{"NothingIsHeldBack", effect{}, &Error{RetryAfter: time.Second}, &Error{RetryAfter: time.Second}},
		{"FailureComesBackWithTheNextProbe", effect{again: time.Minute}, &Error{}, &Error{RetryAfter: time.Minute, held: true}},
		{"FailureIsParked", effect{again: time.Minute, parked: true}, &Error{}, &Error{RetryAfter: time.Minute, held: true, parked: true}},
		{"LongerPauseOfTheCloudIsKept", effect{again: time.Second}, &Error{RetryAfter: time.Minute}, &Error{RetryAfter: time.Minute, held: true}},
		{"SuccessIsNotMarked", effect{again: time.Second}, nil, nil},
	} {
		tt.effect.mark(tt.err)
		if diff := cmp.Diff(fmt.Sprintf("%#v", tt.want), fmt.Sprintf("%#v", tt.err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
