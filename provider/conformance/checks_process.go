package conformance

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// processChecks returns the checks of the provider's effects on its process. Each check
// runs in a child process.
func processChecks() []Check {
	const initialize = "Interface.Initialize: any tasks started here should be cleaned up when the stop channel closes"
	const guest = "the process is the daemon's; other parts live in it, too"
	all := []Check{
		{
			ID: "process/bad-credentials", Level: Core, Since: "0.2", run: badCredentials,
			Title:  "Credentials that the cloud refuses are an error, and do not end the process",
			Source: guest, Cost: "The daemon restarts again and again, and the objects that wait do not show why.",
		},
		{
			ID: "process/config", Level: Extended, Since: "0.2", run: badConfigs,
			Title:  "A configuration with mistakes is refused, and the error names all of them",
			Source: "cloudprovider.Factory returns an error", Cost: "A mistyped key is ignored, or each start reports only one more mistake.",
		},
		{
			ID: "process/stop", Level: Extended, Since: "0.2", run: stopsAll, bare: true,
			Title:  "When the stop channel closes, the goroutines of the provider end",
			Source: initialize, Cost: "A daemon that has lost its lease goes on writing.",
		},
		{
			ID: "process/no-listener", Level: Core, Since: "0.2", run: noListener, bare: true,
			Title:  "The provider listens on no fixed port that others can reach",
			Source: guest, Cost: "On the host's network, the provider's port may conflict with others, and everyone can reach it.",
		},
		{
			ID: "process/no-secrets", Level: Core, Since: "0.2", run: noSecrets, judge: tellsSecrets,
			Title:  "No log line and no error has a secret of the configuration",
			Source: guest, Cost: "Anybody who can read logs and events can use the account.",
		},
		{
			ID: "process/twice-in-one-process", Level: Extended, Since: "0.2", run: twice, bare: true,
			Title:  "Two providers can live in one process",
			Source: "cloudprovider.Factory makes a provider each time", Cost: "If a test or a tool makes a second provider, it crashes.",
		},
	}
	for n := range all {
		all[n].Alone = true
	}
	return all
}

// configs returns the configurations of the target that have one of the flaws.
func (t *trial) configs(flaws ...Flaw) []Config {
	found := slices.DeleteFunc(slices.Clone(t.suite.target.Configs), func(c Config) bool { return !slices.Contains(flaws, c.Flaw) })
	if len(found) == 0 {
		t.notRunf("needs Target.Configs with %v", flaws)
	}
	return found
}

// unmentioned returns an error if the text lacks one of the words.
func unmentioned(text string, words []string) error {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return fmt.Errorf("the error %q does not name %s", text, word)
		}
	}
	return nil
}

// The result is a Node whose machine has never existed.
func (t *trial) never() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: t.name("never")}}
}

func badCredentials(t *trial) {
	for _, config := range t.configs(BadCredentials) {
		made, err := config.New(t.ctx, t.world)
		if err != nil {
			if err := unmentioned(err.Error(), config.Mentions); err != nil {
				t.errorf("New with bad credentials: %v", err)
			}
			continue
		}
		if made == nil {
			t.failf("New with bad credentials = nil, nil; want an error or a provider")
		}
		t.provider = made
		if _, ok := made.InstancesV2(); ok {
			t.notAbsent(t.ctx, t.never(), "bad credentials")
		}
	}
}

func badConfigs(t *trial) {
	for _, config := range t.configs(UnknownKey, TwoMistakes) {
		_, err := config.New(t.ctx, t.world)
		if err == nil {
			t.errorf("New with the flaw %s: the error is nil; want one that names %q", config.Flaw, config.Mentions)
			continue
		}
		if err := unmentioned(err.Error(), config.Mentions); err != nil {
			t.errorf("New with the flaw %s: %v", config.Flaw, err)
		}
	}
}

// ask calls InstanceExists if the provider offers InstancesV2. It returns only the error,
// because the answer does not matter.
func (t *trial) ask(from cloudprovider.Interface) error {
	v2, ok := from.InstancesV2()
	if !ok {
		return nil
	}
	_, err := v2.InstanceExists(t.ctx, t.never())
	return err
}

func stopsAll(t *trial) {
	before := goroutines()
	t.restart()
	_ = t.ask(t.provider)
	t.endProvider()
	t.eventually(func() error {
		for id, stack := range goroutines() {
			if _, old := before[id]; !old {
				return fmt.Errorf("this goroutine goes on after the stop channel of Initialize was closed:\n%s", stack)
			}
		}
		return nil
	})
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

func noListener(t *trial) {
	before, err := listeners()
	if err != nil {
		t.notRunf("the sockets of the process cannot be read: %v", err)
	}
	t.restart()
	for range 10 { // a goroutine of the provider may open a listener a little later
		_ = t.ask(t.provider)
		after, err := listeners()
		if err != nil {
			t.notRunf("the sockets of the process cannot be read: %v", err)
		}
		for inode, address := range after {
			if _, old := before[inode]; !old {
				t.failf("the provider listens at %s; want no listener, or one at a loopback address", address)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func noSecrets(t *trial) {
	if len(t.suite.target.Secrets) == 0 {
		t.notRunf("needs Target.Secrets")
	}
	t.noSecret("InstanceExists", t.ask(t.provider))
	for _, config := range t.suite.target.Configs {
		made, err := config.New(t.ctx, t.world)
		t.noSecret("New with the flaw "+string(config.Flaw), err)
		if made != nil && err == nil {
			t.noSecret("InstanceExists with the flaw "+string(config.Flaw), t.ask(made))
		}
	}
	if _, ok := t.world.(Faulter); !ok {
		return
	}
	for _, kind := range failures() {
		restore, err := t.setFault(Fault{Kind: kind})
		if err != nil {
			continue // other checks report what the world lacks
		}
		t.brief(func(ctx context.Context) {
			if v2, ok := t.provider.InstancesV2(); ok {
				_, err := v2.InstanceExists(ctx, t.never())
				t.noSecret("InstanceExists under the fault "+string(kind), err)
			}
		})
		restore()
	}
}

// noSecret fails the check if an error contains a secret.
func (t *trial) noSecret(call string, err error) {
	for n, secret := range t.suite.target.Secrets {
		if err != nil && secret != "" && strings.Contains(err.Error(), secret) {
			t.errorf("%s: the error has secret %d of Target.Secrets", call, n+1)
		}
	}
}

// tellsSecrets looks for secrets in the output of the process.
func tellsSecrets(target Target, output string) string {
	for n, secret := range target.Secrets {
		for line := range strings.Lines(output) {
			if secret != "" && strings.Contains(line, secret) {
				return fmt.Sprintf("a log line has secret %d of Target.Secrets: %s", n+1, strings.ReplaceAll(strings.TrimSpace(line), secret, "<secret>"))
			}
		}
	}
	return ""
}

func twice(t *trial) {
	if t.suite.target.Singleton {
		t.unsupportedf("the target says that the provider can be made only once in a process")
	}
	t.restart()
	ctx, stop := context.WithCancel(t.ctx)
	defer stop()
	second, err := t.suite.target.New(ctx, t.world)
	if err != nil || second == nil {
		t.failf("the second New = %v, %v; want a provider and nil", second, shown(err))
	}
	first := t.provider
	for n, one := range []cloudprovider.Interface{first, second} {
		if err := t.ask(one); err != nil {
			t.errorf("with two providers in the process, InstanceExists of provider %d: %v", n+1, err)
		}
	}
	stop()
	if err := t.ask(first); err != nil {
		t.errorf("after the second provider was stopped, InstanceExists of the first: %v", err)
	}
}
