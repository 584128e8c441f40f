package provider

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/daemon/mounttest"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider/providertest"
)

var errRefused = errors.New("line 3: no such region")

// In each row, the field checks has one letter for each check of the files. The letter
// stands for their content. "!" means that the files cannot be read. "+" means that
// refusalExpiry has passed, so refused content is tried again.
func TestRotation(t *testing.T) {
	for _, tc := range []struct {
		name    string
		checks  string
		leads   bool     // another configuration needs a restart of the process
		bad     string   // the content that is refused
		tries   int      // bad is accepted after this many tries; 0 means never
		events  []string // outcomes in order
		state   string
		applied string // contents that were taken, in order
	}{
		{name: "NothingChanges", checks: "aaaa", state: inUseText},
		{name: "ChangeIsTaken", checks: "abbb", events: []string{"CloudConfigApplied"}, state: inUseText, applied: "b"},
		{name: "WaitsUntilTheFilesStayTheSame", checks: "abcdd", events: []string{"CloudConfigApplied"}, state: inUseText, applied: "d"},
		{name: "FormerContentIsNoChange", checks: "abaaa", state: inUseText},
		{name: "RefusedOnceAndShown", checks: "axxxx", bad: "x", events: []string{"CloudConfigRefused"}, state: refusedText},
		{name: "CorrectedFilesAreTaken", checks: "axxxbbb", bad: "x", events: []string{"CloudConfigRefused", "CloudConfigApplied"}, state: inUseText, applied: "b"},
		{name: "FormerContentAfterARefusal", checks: "axxxa", bad: "x", events: []string{"CloudConfigRefused"}, state: inUseText},
		{name: "RefusedAgainAfterTheFormerContent", checks: "axxaxx", bad: "x", events: []string{"CloudConfigRefused", "CloudConfigRefused"}, state: refusedText},
		{name: "UnreadableFilesAreNoChange", checks: "a!!!", state: unreadableText},
		{name: "UnreadableFilesThatChange", checks: "a!bb", events: []string{"CloudConfigApplied"}, state: inUseText, applied: "b"},
		{name: "UnreadableForAWhile", checks: "a!a", state: inUseText},
		{name: "StillRefusedAfterItWasUnreadable", checks: "axx!x", bad: "x", events: []string{"CloudConfigRefused"}, state: refusedText},
		{name: "RefusedAgainIsNoSecondEvent", checks: "axx+xxx+x", bad: "x", events: []string{"CloudConfigRefused"}, state: refusedText},
		{name: "RefusedContentIsTriedAgainLater", checks: "axxx+x", bad: "x", tries: 1, events: []string{"CloudConfigRefused", "CloudConfigApplied"}, state: inUseText, applied: "x"},
		{name: "RefusedContentIsNotTriedAgainAtOnce", checks: "axxxxx", bad: "x", tries: 1, events: []string{"CloudConfigRefused"}, state: refusedText},
		{name: "LeaderEnds", checks: "abb", leads: true, events: []string{"CloudConfigChanged"}, state: inUseText, applied: "b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var events []string
			var taken, now string
			var end error
			refusals := 0
			hours := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
			r := &Rotation{
				check: func() (string, error) {
					if now == "!" {
						return "", errors.New("no such file")
					}
					return now, nil
				},
				apply: func(context.Context) (outcome, error) {
					if now == tc.bad && (tc.tries == 0 || refusals < tc.tries) {
						refusals++
						return refused, errRefused
					}
					taken += now
					if tc.leads {
						return restart, nil
					}
					return applied, nil
				},
				record: func(e message.Event) {
					if strings.Contains(e.Message, errRefused.Error()) {
						t.Errorf("an event shows what may be secret: %s", e.Message)
					}
					events = append(events, e.Reason)
				},
				fail:    func(err error) { end = err },
				metrics: NewMetrics(registerAnew),
				clock:   hours,
				inUse:   "a",
				state:   inUseText,
			}
			for _, check := range tc.checks {
				if check == '+' {
					hours.SetTime(hours.Now().Add(refusalExpiry))
					continue
				}
				now = string(check)
				r.step(t.Context())
			}
			if diff := cmp.Diff(tc.events, events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if ended := errors.Is(end, ErrRotated); ended != tc.leads {
				t.Errorf("the process ends: %t, want %t", ended, tc.leads)
			}
			if r.State() != tc.state || taken != tc.applied {
				t.Errorf("got %q after %q, want %q after %q", r.State(), taken, tc.state, tc.applied)
			}
			stale, err := testutil.GetGaugeMetricValue(r.metrics.stale)
			if err != nil || (stale == 1) != (tc.state != inUseText) {
				t.Errorf("stale: got %v, error %v", stale, err)
			}
		})
	}
}

// registerAnew registers metrics in a new registry, because metrics that are not
// registered count nothing.
func registerAnew(all ...metrics.Registerable) {
	metrics.NewKubeRegistry().MustRegister(all...)
}

// secret writes a version of a mounted Secret.
func secret(t *testing.T, dir, version string) {
	t.Helper()
	mounttest.Write(t, filepath.Join(dir, "secret"), version, map[string][]byte{"tls.crt": []byte(version), "tls.key": []byte(version)})
}

func TestFingerprint(t *testing.T) {
	write := func(t *testing.T, text string, path ...string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(path...), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name   string
		change func(t *testing.T, dir string)
		want   bool // the fingerprint changes
	}{
		{"Nothing", func(*testing.T, string) {}, false},
		{"TheFile", func(t *testing.T, dir string) { write(t, "b", dir, "host", "cloud.conf") }, true},
		{"AnotherFileOfTheHost", func(t *testing.T, dir string) { write(t, "b", dir, "host", "admin.conf") }, false},
		{"TheSecret", func(t *testing.T, dir string) { secret(t, dir, "2") }, true},
		{"KubeletsOwnFiles", func(t *testing.T, dir string) { write(t, "", dir, "secret", "..stray") }, false},
		{"AFurtherFile", func(t *testing.T, dir string) { write(t, "b", dir, "more", "token") }, true},
		{"ANewFile", func(t *testing.T, dir string) { write(t, "b", dir, "more", "ca") }, true},
		{"WithinAFolderOfTheFolder", func(t *testing.T, dir string) { write(t, "b", dir, "more", "deep", "x") }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, sub := range []string{"host", "secret", "more/deep"} {
				if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			write(t, "a", dir, "host", "cloud.conf")
			write(t, "a", dir, "host", "admin.conf")
			write(t, "a", dir, "more", "token")
			secret(t, dir, "1")
			of := func() string {
				sum, err := Fingerprint([]string{VolumeOf(dir + "/host/cloud.conf"), dir + "/more", VolumeOf(dir + "/secret/tls.crt")})
				if err != nil {
					t.Fatal(err)
				}
				return sum
			}
			before := of()
			tc.change(t, dir)
			if got := of() != before; got != tc.want {
				t.Errorf("changed: %t, want %t", got, tc.want)
			}
		})
	}
}

func TestPipeIsNotRead(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if _, err = w.WriteString("a"); err == nil {
		err = w.Close()
	}
	if err == nil {
		_, err = Fingerprint([]string{fmt.Sprintf("/dev/fd/%d", r.Fd())})
	}
	if text, readErr := io.ReadAll(r); err != nil || readErr != nil || string(text) != "a" {
		t.Errorf("the provider gets %q, %v, %v", text, err, readErr)
	}
}

// reloadable is a provider that can take another configuration while it works.
type reloadable struct {
	providertest.Cloud

	reload func(string) error
}

func (r *reloadable) Reload(_ context.Context, config io.Reader) error {
	text, err := io.ReadAll(config)
	if err != nil {
		return err
	}
	return r.reload(string(text))
}

func TestRotate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cloud.conf")
	if err := os.WriteFile(file, []byte("region: west"), 0o600); err != nil {
		t.Fatal(err)
	}
	reloads := func(err error) cloudprovider.Interface {
		return &reloadable{reload: func(text string) error {
			if text != "region: west" {
				return errors.New("got " + text)
			}
			return err
		}}
	}
	for _, tc := range []struct {
		name    string
		current cloudprovider.Interface
		factory string // name of the provider in the registry
		leads   bool
		want    outcome
		err     string
		in      string // the configuration that the provider in use was made from
	}{
		{name: "ByTheProviderItself", current: reloads(nil), leads: true, want: applied},
		{name: "RefusedByTheProviderItself", current: reloads(errRefused), leads: true, want: refused, err: "with --cloud-config=" + file + ": line 3: no such region"},
		{name: "ProviderPanics", current: &reloadable{reload: func(string) error { panic("broken") }}, leads: true, want: refused, err: "Reload panicked: broken"},
		{name: "StandbyTakesAnotherProvider", current: &providertest.Cloud{Config: "old"}, factory: "reading", want: applied, in: "region: west"},
		{name: "LeaderEnds", current: &providertest.Cloud{Config: "old"}, factory: "reading", leads: true, want: restart, in: "old"},
		{name: "RefusedByTheFactory", current: &providertest.Cloud{Config: "old"}, factory: "failing", leads: true, want: refused, err: "no credentials", in: "old"},
		{name: "RefusedOnStandby", current: &providertest.Cloud{Config: "old"}, factory: "failing", want: refused, err: "no credentials", in: "old"},
		{name: "FactoryPanics", current: &providertest.Cloud{Config: "old"}, factory: "panicking", want: refused, err: "factory panicked", in: "old"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := NewCurrent(factoryOf(tc.factory, file), Made{Cloud: providertest.Made(t, tc.current)}, time.Minute, Self{})
			if tc.leads {
				c.Take()
			}
			got, err := c.rotate(t.Context())
			if got != tc.want || (err == nil) != (tc.err == "") || (err != nil && !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("got %s and %v, want %s and %q", got, err, tc.want, tc.err)
			}
			if cloud, ok := c.get().Cloud.Unwrap().(*providertest.Cloud); ok && cloud.Config != tc.in {
				t.Errorf("in use is %q, want %q", cloud.Config, tc.in)
			}
		})
	}
}

func TestReloadsDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "cloud.conf")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		c := NewCurrent(factoryOf("test", file), Made{Cloud: providertest.Made(t, &reloadable{reload: func(string) error { <-release; return nil }})}, time.Minute, Self{})
		for _, want := range []string{context.DeadlineExceeded.Error(), "the last Reload has not returned yet"} {
			if got, err := c.rotate(t.Context()); got != refused || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %s and %v, want %s", got, err, want)
			}
		}
		close(release)
		synctest.Wait()
		if got, err := c.rotate(t.Context()); got != applied || err != nil {
			t.Errorf("got %s and %v once it has returned", got, err)
		}
	})
}

// A projected volume has cloud-config beside a token that the kubelet replaces
// every 48 minutes.
func TestTokenOfThePodIsNoConfiguration(t *testing.T) {
	token := func(claims string) string {
		return "header." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".signature"
	}
	for _, tc := range []struct {
		name, before, after string
		changes             bool
	}{
		{"TokenOfThePod", token(`{"exp":1,"kubernetes.io":{}}`), token(`{"exp":2,"kubernetes.io":{}}`), false},
		{"OtherToken", token(`{"exp":1}`), token(`{"exp":2}`), true},
		{"NoToken", "a.b.c", "a.b.d", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			var sums [2]string
			for n, content := range []string{tc.before, tc.after} {
				if err := os.WriteFile(filepath.Join(dir, "token"), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				var err error
				if sums[n], err = Fingerprint([]string{dir}); err != nil {
					t.Fatal(err)
				}
			}
			if changed := sums[0] != sums[1]; changed != tc.changes {
				t.Errorf("changed: %v, want %v", changed, tc.changes)
			}
		})
	}
}

// A provider requests a renewal each time it is made.
func TestProviderThatAlwaysAsksIsRenewedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, made := make(chan struct{}, 1), 0
		r := &Rotation{
			asked: asked, check: func() (string, error) { return "same", nil }, inUse: "same",
			clock: clock.RealClock{}, metrics: NewMetrics(func(...metrics.Registerable) {}),
			apply: func(context.Context) (outcome, error) {
				made++
				asked <- struct{}{}
				return applied, nil
			},
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute+time.Second)
		defer cancel()
		asked <- struct{}{}
		r.Run(ctx, 0, Reports{Event: func(message.Event) {}, Fail: func(error) {}})
		if made != 11 {
			t.Errorf("%d providers were made in ten minutes, want one at once and one each minute", made)
		}
	})
}

func TestRefusedContentIsTriedEveryFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		r := &Rotation{
			check: func() (string, error) { return "new", nil }, inUse: "old",
			clock: clock.RealClock{}, metrics: NewMetrics(func(...metrics.Registerable) {}),
			apply: func(context.Context) (outcome, error) {
				tries++
				return refused, errRefused
			},
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		r.Run(ctx, 10*time.Second, Reports{Event: func(message.Event) {}, Fail: func(error) {}})
		if tries != 12 {
			t.Errorf("the provider was tried %d times in an hour, want 12", tries)
		}
	})
}
