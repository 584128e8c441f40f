package serving

import (
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"net/http"
	"slices"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/cache"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// unknownAtOnce and unknownPerSecond bound the questions to the API server about
	// unknown credentials. The first is the burst, and the second is the rate after
	// it.
	unknownAtOnce, unknownPerSecond = 20, 10
	// rememberFor is the time for which accepted credentials and allowed requests
	// are remembered. During this time, questions to the API server about them are
	// not bounded. A scraper comes back within this time.
	rememberFor = 10 * time.Minute
	// remembered is the maximum number of entries in each cache. An entry is, for
	// example, a hash of credentials.
	remembered = 4096
)

// reviewed bounds the questions to the API server about unknown credentials, and the
// verification of unknown certificates. A caller
// that reaches the port can send any number of them. The library asks about them each
// time, because it does not remember a refusal that gives a reason, and the API server
// always gives one. It returns no errors, because the library writes each of them to the
// log, and a certificate can make them as long as the caller likes.
type reviewed struct {
	next     authenticator.Request
	refused  *cache.LRUExpireCache // hashes of credentials
	accepted *cache.LRUExpireCache
	refusal  time.Duration // time for which a refusal is remembered
	limiter  *rate.Limiter
	verifier *rate.Limiter   // the same for certificates, whose verification takes CPU time
	few      *rate.Sometimes // bounds the log of errors
	clock    clock.PassiveClock
}

func newReviewed(next authenticator.Request, refusal time.Duration, c clock.PassiveClock) *reviewed {
	return &reviewed{
		next:     next,
		refused:  cache.NewLRUExpireCacheWithClock(remembered, c),
		accepted: cache.NewLRUExpireCacheWithClock(remembered, c),
		refusal:  refusal,
		limiter:  rate.NewLimiter(unknownPerSecond, unknownAtOnce),
		verifier: rate.NewLimiter(unknownPerSecond, unknownAtOnce),
		few:      newFew(),
		clock:    c,
	}
}

// AuthenticateRequest implements authenticator.Request.
func (a *reviewed) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	// Web sockets can carry credentials in this header, and the library would ask
	// about them, too. No path here serves web sockets.
	r.Header.Del("Sec-WebSocket-Protocol")
	credentials, limiter := sha256.New(), a.limiter
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		limiter = a.verifier
		for _, c := range r.TLS.PeerCertificates {
			credentials.Write(c.Raw)
		}
	}
	token := r.Header.Get("Authorization")
	if limiter == a.limiter && token == "" {
		answer, ok, err := a.next.AuthenticateRequest(r)
		a.log(r, err)
		return answer, ok, nil
	}
	credentials.Write([]byte(token))
	key := [sha256.Size]byte(credentials.Sum(nil))
	if _, ok := a.refused.Get(key); ok {
		return nil, false, nil
	}
	if _, ok := a.accepted.Get(key); !ok && !limiter.AllowN(a.clock.Now(), 1) {
		return nil, false, nil
	}
	answer, ok, err := a.next.AuthenticateRequest(r)
	if isUnanswered(err) { // The credentials may be valid, so the next request is asked about.
		a.log(r, err)
		return nil, false, nil
	}
	if err != nil || !ok {
		a.accepted.Remove(key)
		a.refused.Add(key, true, a.refusal)
		a.log(r, err)
		return answer, ok, nil
	}
	a.accepted.Add(key, true, rememberFor)
	return answer, ok, nil
}

// isUnanswered reports whether the API server has failed or was not reached, so that it
// has neither accepted nor refused the credentials.
func isUnanswered(err error) bool {
	if many, ok := errors.AsType[utilerrors.Aggregate](err); ok {
		return slices.ContainsFunc(many.Errors(), isUnanswered)
	}
	_, isStatus := errors.AsType[*apierrors.StatusError](err)
	_, isNet := errors.AsType[net.Error](err) // also a deadline
	return isStatus || isNet || errors.Is(err, context.Canceled)
}

// log writes some of the errors to the log.
func (a *reviewed) log(r *http.Request, err error) {
	if err != nil {
		a.few.Do(func() { klog.FromContext(r.Context()).Error(cut(err), "A request could not be authenticated") })
	}
}
