package conformance

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// twiceID is the ID of the check that finds out whether a process can have two providers.
const twiceID = "process/twice-in-one-process"

// providersKey is the measurement of that check: how many providers it has made.
const providersKey = "providers"

const sourceGuest = "the process is the daemon's; other parts live in it, too"

// processChecks are the checks of the provider's effects on its process. Each check
// runs in a child process.
var processChecks = []Check{
	{
		ID: "process/bad-credentials", Level: Core, Source: sourceGuest, bare: true,
		Title: "Credentials that the cloud refuses are an error, and do not end the process",
		Cost:  "The daemon restarts again and again, and the objects that wait do not show why.",
		run: func(t *trial) {
			for _, config := range t.configs(BadCredentials) {
				made, err := config.New(t.ctx, t.world)
				switch {
				case err != nil:
					t.mentions(config, err)
				case made == nil:
					t.failf("New with bad credentials = nil, nil; want an error or a provider")
				default:
					t.provider = made
					if _, ok := made.InstancesV2(); ok {
						t.notAbsent(t.ctx, t.never(), "bad credentials")
					}
				}
			}
		},
	},
	{
		ID: "process/config", Level: Extended, Source: "cloudprovider.Factory returns an error", bare: true,
		Title: "A configuration with mistakes is refused, and the error names all of them",
		Cost:  "A mistyped key is ignored, or each start reports only one more mistake.",
		run: func(t *trial) {
			for _, config := range t.configs(UnknownKey, TwoMistakes) {
				if _, err := config.New(t.ctx, t.world); err == nil {
					t.errorf("New with the flaw %s: the error is nil; want one that names %q", config.Flaw, config.Mentions)
				} else {
					t.mentions(config, err)
				}
			}
		},
	},
	{
		ID: "process/stop", Level: Extended, bare: true,
		Source: "Interface.Initialize: any tasks started here should be cleaned up when the stop channel closes",
		Title:  "When the stop channel closes, the goroutines of the provider end",
		Cost:   "A daemon that has lost its lease goes on writing.",
		run: func(t *trial) {
			before := goroutines()
			t.restart()
			_ = t.ask(t.ctx, t.provider)
			t.endProvider()
			t.eventually(func() error {
				for id, stack := range goroutines() {
					if _, old := before[id]; !old {
						return fmt.Errorf("this goroutine goes on after the stop channel of Initialize was closed:\n%s", stack)
					}
				}
				return nil
			})
		},
	},
	{
		ID: "process/no-listener", Level: Core, Source: sourceGuest, bare: true,
		Title: "The provider listens on no fixed port that others can reach",
		Cost:  "On the host's network, the provider's port may conflict with others, and everyone can reach it.",
		run: func(t *trial) {
			before, err := listeners()
			if err != nil {
				t.notRunf("the sockets of the process cannot be read: %v", err)
			}
			t.restart()
			_ = t.ask(t.ctx, t.provider)
			time.Sleep(settling)
			after, _ := listeners()
			for _, address := range after {
				if !slices.Contains(before, address) {
					t.failf("the provider listens at %s; want no listener, or one at a loopback address", address)
				}
			}
		},
	},
	{
		ID: "process/no-secrets", Level: Core, Source: sourceGuest, bare: true, judge: tellsSecrets,
		Title: "No log line and no error has a secret of the configuration",
		Cost:  "Anybody who can read logs and events can use the account.",
		run: func(t *trial) {
			if len(t.target.Secrets) == 0 {
				t.notRunf("needs Target.Secrets")
			}
			for _, config := range t.target.Configs {
				made, err := config.New(t.ctx, t.world)
				t.noSecret("New with the flaw "+string(config.Flaw), err)
				if made != nil && err == nil {
					t.provider = made
					t.noSecret("InstanceExists with the flaw "+string(config.Flaw), t.ask(t.ctx, made))
				}
			}
			t.restart()
			t.noSecret("InstanceExists", t.ask(t.ctx, t.provider))
			if _, ok := t.world.(Faulter); !ok {
				return
			}
			for _, f := range failures() {
				if restore, err := t.setFault(f); err == nil { // other checks report what the world lacks
					t.brief(func(ctx context.Context) {
						t.noSecret("InstanceExists under the fault "+string(f.Kind), t.ask(ctx, t.provider))
					})
					restore()
				}
			}
		},
	},
	{
		ID: twiceID, Level: Extended, Source: "cloudprovider.Factory makes a provider each time", bare: true,
		Title: "Two providers can live in one process",
		Cost:  "If a test or a tool makes a second provider, it crashes.",
		run: func(t *trial) {
			t.measure(providersKey, 0)
			t.restart()
			t.measure(providersKey, 1)
			alone := t.ask(t.ctx, t.provider) // other checks judge the answer
			ctx, stop := context.WithCancel(t.ctx)
			defer stop()
			second, err := t.target.New(ctx, t.world)
			if err != nil || second == nil {
				t.failf("the second New = %v, %v; want a provider and nil", second, shown(err))
			}
			time.Sleep(settling)
			t.measure(providersKey, 2)
			for n, one := range []cloudprovider.Interface{t.provider, second} {
				if err := t.ask(t.ctx, one); err != nil && alone == nil {
					t.errorf("with two providers in the process, InstanceExists of provider %d: %v", n+1, err)
				}
			}
			stop()
			if err := t.ask(t.ctx, t.provider); err != nil && alone == nil {
				t.errorf("after the second provider was stopped, InstanceExists of the first: %v", err)
			}
		},
	},
}

// settling is the time that goroutines of the provider get after New. They may register
// something, open a listener, or end the process.
const settling = 200 * time.Millisecond

// configs returns the configurations of the target that have one of the flaws.
func (t *trial) configs(flaws ...Flaw) []Config {
	found := slices.DeleteFunc(slices.Clone(t.target.Configs), func(c Config) bool { return !slices.Contains(flaws, c.Flaw) })
	if len(found) == 0 {
		t.notRunf("needs Target.Configs with %v", flaws)
	}
	return found
}

// mentions fails the check if the error of New lacks a text that it must contain.
func (t *trial) mentions(config Config, err error) {
	if word := unmentioned(err, config.Mentions); word != "" {
		t.errorf("New with the flaw %s: the error %q does not name %s", config.Flaw, err, word)
	}
}

// unmentioned returns the first word that the error does not name, or "".
func unmentioned(err error, words []string) string {
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			return word
		}
	}
	return ""
}

// never returns a Node whose machine has never existed.
func (t *trial) never() *corev1.Node { return identified(t.name("never"), "") }

// ask calls InstanceExists if the provider offers InstancesV2. It returns only the error,
// because the answer does not matter.
func (t *trial) ask(ctx context.Context, from cloudprovider.Interface) (err error) {
	if v2, ok := from.InstancesV2(); ok {
		_, err = v2.InstanceExists(ctx, t.never())
	}
	return err
}

// goroutines returns the stacks of the goroutines that could be the provider's, by
// number. It leaves out the goroutines of package net/http, because they only keep
// connections open.
func goroutines() map[string]string {
	text := make([]byte, 1<<20)
	text = text[:runtime.Stack(text, true)]
	found := map[string]string{}
	for stack := range strings.SplitSeq(string(text), "\n\n") {
		id, _, _ := strings.Cut(stack, " [")
		if !strings.Contains(stack, "created by net/http.") && !strings.Contains(stack, "conformance.goroutines(") {
			found[id] = stack
		}
	}
	return found
}

// noSecret fails the check if an error contains a secret.
func (t *trial) noSecret(call string, err error) {
	if err == nil {
		return
	}
	if n := secretIn(t.target, err.Error()); n > 0 {
		t.errorf("%s: the error has secret %d of Target.Secrets", call, n)
	}
}

// secretIn returns the number of the first secret in a text, or 0 if there is none.
func secretIn(target Target, text string) int {
	return 1 + slices.IndexFunc(target.Secrets, func(secret string) bool { return secret != "" && strings.Contains(text, secret) })
}

// tellsSecrets looks for secrets in the output of the process.
func tellsSecrets(target Target, output string) string {
	for line := range strings.Lines(output) {
		if n := secretIn(target, line); n > 0 {
			return fmt.Sprintf("a log line has secret %d of Target.Secrets: %s", n, strings.ReplaceAll(strings.TrimSpace(line), target.Secrets[n-1], "<secret>"))
		}
	}
	return ""
}
