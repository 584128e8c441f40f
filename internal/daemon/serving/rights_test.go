package serving

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apiserveroptions "k8s.io/apiserver/pkg/server/options"
	testingclock "k8s.io/utils/clock/testing"
)

// TestInventedPathsAreRarelyReviewed counts the questions to the API server that two
// callers cause. One has no credentials, and the other has the token of any pod.
func TestInventedPathsAreRarelyReviewed(t *testing.T) {
	kubeconfig, asked := countingAuthority(t)
	_, url := serving(t, "--authentication-kubeconfig="+kubeconfig+" --authorization-kubeconfig="+kubeconfig)
	client := insecureClient()
	client.Transport.(*http.Transport).DisableKeepAlives = false
	get := func(path, token string) int { return status(t, client, http.MethodGet, url+path, token, nil) }

	for _, token := range []string{"", "other"} {
		asked.rights.Store(0)
		began := time.Now()
		for i := range 300 {
			if got := get("/livez/"+strconv.Itoa(i), token); got != 403 {
				t.Errorf("token %q gets %d for a path that was invented", token, got)
			}
		}
		if n, most := asked.rights.Load(), int64(questionsAtOnce+1+questionsPerSecond*time.Since(began).Seconds()); n > most {
			t.Errorf("token %q: %d SubjectAccessReviews for 300 paths, want at most %d", token, n, most)
		}
		if got := get("/livez", token); got != 200 {
			t.Errorf("meanwhile a probe gets %d", got)
		}
	}
	if got := get("/metrics", "reader"); got != 200 {
		t.Errorf("meanwhile the reader gets %d", got)
	}
}

func TestAuthorized(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Now())
	asked, allows := 0, true
	options := apiserveroptions.NewDelegatingAuthorizationOptions()
	a, err := newAuthorized(authorizer.AuthorizerFunc(func(_ context.Context, what authorizer.Attributes) (authorizer.Decision, string, error) {
		asked++
		if allows && what.GetPath() == "/metrics" {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "", nil
	}), options, clock)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(name, path string, groups ...string) bool {
		what := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: name, Groups: groups}, Verb: "get", Path: path}
		decision, _, err := a.Authorize(t.Context(), what)
		return decision == authorizer.DecisionAllow && err == nil
	}
	flood := func(name string, groups ...string) int {
		asked = 0
		for i := range 100 {
			ask(name, "/"+strconv.Itoa(i), groups...)
		}
		return asked
	}
	if !ask("reader", "/metrics") {
		t.Fatal("the reader is refused")
	}
	if n := flood("system:anonymous"); n != questionsAtOnce {
		t.Errorf("asked %d times, want %d", n, questionsAtOnce)
	}
	if n := flood("other"); n != questionsAtOnce {
		t.Errorf("another user has %d questions left, want %d", n, questionsAtOnce)
	}
	if n := flood("master", "system:masters"); n != 0 {
		t.Errorf("asked %d times about a group that may do everything", n)
	}
	if ask("other", "/metrics") {
		t.Error("a user over the bound is allowed what was never allowed")
	}
	flood("reader")
	if !ask("reader", "/metrics") {
		t.Error("what was allowed before waits for what was not")
	}
	allows = false
	if ask("reader", "/metrics") {
		t.Error("what is not allowed any more is remembered as allowed")
	}
	allows = true
	clock.SetTime(clock.Now().Add(time.Second))
	if n := flood("other"); n != questionsPerSecond {
		t.Errorf("asked %d times a second later, want %d", n, questionsPerSecond)
	}
	if asked = 0; !ask("system:anonymous", "/healthz") || asked != 0 {
		t.Errorf("a probe is refused or asked about %d times", asked)
	}
}

// The library remembers each question with its path, so nobody is asked about long ones.
func TestNobodyIsAskedAboutOddPaths(t *testing.T) {
	asked := 0
	a, err := newAuthorized(authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		asked++
		return authorizer.DecisionAllow, "", nil
	}), apiserveroptions.NewDelegatingAuthorizationOptions(), testingclock.NewFakePassiveClock(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]authorizer.Decision{
		"/metrics": authorizer.DecisionAllow, "/" + strings.Repeat("a", longestPath): authorizer.DecisionNoOpinion, "/a\x00": authorizer.DecisionNoOpinion, "/\u202e": authorizer.DecisionNoOpinion,
	} {
		if got, _, err := a.Authorize(t.Context(), authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "a"}, Verb: "get", Path: path}); got != want || err != nil {
			t.Errorf("%.20q: %v, %v, want %v", path, got, err, want)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times, want 1", asked)
	}
}
