package serving

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	apiserveroptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/utils/clock"
)

// questionsAtOnce and questionsPerSecond bound the questions to the API server about
// the rights of one user. The first is the burst, and the second is the rate after
// it. All callers without credentials count as one user.
const questionsAtOnce, questionsPerSecond = 20, 10

// authorized bounds the questions to the API server about the rights of a user. A
// caller that reaches the port can invent any number of paths, and each path causes a
// question. Without the bound, a question about the rights of Prometheus would wait
// in the client's queue behind all these questions.
type authorized struct {
	authorizer.Authorizer // the server calls only Authorize

	free    []authorizer.Authorizer // these allow without a request to the API server
	allowed *cache.LRUExpireCache   // hashes of allowed requests
	clock   clock.PassiveClock

	mu     sync.Mutex
	bounds *cache.LRUExpireCache // limiters by user; guarded by mu
}

func newAuthorized(next authorizer.Authorizer, o *apiserveroptions.DelegatingAuthorizationOptions, c clock.PassiveClock) (*authorized, error) {
	paths, err := path.NewAuthorizer(o.AlwaysAllowPaths)
	return &authorized{
		Authorizer: next,
		free:       []authorizer.Authorizer{authorizerfactory.NewPrivilegedGroups(o.AlwaysAllowGroups...), paths},
		allowed:    cache.NewLRUExpireCacheWithClock(remembered, c),
		bounds:     cache.NewLRUExpireCacheWithClock(remembered, c),
		clock:      c,
	}, err
}

// Authorize implements authorizer.Authorizer.
func (a *authorized) Authorize(ctx context.Context, what authorizer.Attributes) (authorizer.Decision, string, error) {
	for _, free := range a.free {
		if decision, why, err := free.Authorize(ctx, what); decision == authorizer.DecisionAllow {
			return decision, why, err
		}
	}
	if n := len(what.GetPath()) + len(what.GetVerb()); n > longestPath || strings.ContainsFunc(what.GetPath()+what.GetVerb(), isUnusual) {
		return authorizer.DecisionNoOpinion, "no path of this server is so long, or has such characters", nil
	}
	user := what.GetUser().GetName()
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", user, what.GetVerb(), what.GetPath()))
	if _, ok := a.allowed.Get(key); !ok && !a.bound(user).AllowN(a.clock.Now(), 1) {
		return authorizer.DecisionNoOpinion, "too many questions about what this user may do", nil
	}
	decision, why, err := a.Authorizer.Authorize(ctx, what)
	if decision == authorizer.DecisionAllow {
		a.allowed.Add(key, true, rememberFor)
	}
	return decision, why, err
}

// longestPath bounds the questions that the library remembers. Each path of this server
// is shorter.
const longestPath = 1024

func isUnusual(r rune) bool { return r < ' ' || r > '~' }

// bound returns the limiter of a user. The cache drops a limiter after rememberFor,
// and then the user gets a new one.
func (a *authorized) bound(user string) *rate.Limiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l, ok := a.bounds.Get(user); ok {
		return l.(*rate.Limiter)
	}
	l := rate.NewLimiter(questionsPerSecond, questionsAtOnce)
	a.bounds.Add(user, l, rememberFor)
	return l
}
