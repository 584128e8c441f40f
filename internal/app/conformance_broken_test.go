package app

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

// brokenCloud panics, hangs or exits when it is asked about an instance. Its field
// says which.
type brokenCloud struct {
	cloudprovider.Interface

	does string
}

// asBroken is the environment variable that tells a child process of the suite what
// its provider does.
const asBroken = "FAIRLEAD_TEST_BROKEN"

// brokenProvider returns the options of a program whose provider is a brokenCloud.
func brokenProvider(does string) Options {
	o := plain
	o.Provider = func(context.Context, ProviderDeps) (cloudprovider.Interface, error) {
		return brokenCloud{does: does}, nil
	}
	return o
}

func (brokenCloud) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}
func (brokenCloud) HasClusterID() bool                                                { return true }

func (brokenCloud) ProviderName() string { return "broken" }

func (b brokenCloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return b, true }
func (brokenCloud) Instances() (cloudprovider.Instances, bool)       { return nil, false }
func (brokenCloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }
func (brokenCloud) Routes() (cloudprovider.Routes, bool)             { return nil, false }
func (brokenCloud) Zones() (cloudprovider.Zones, bool)               { return nil, false }
func (brokenCloud) Clusters() (cloudprovider.Clusters, bool)         { return nil, false }

func (b brokenCloud) do() {
	switch b.does {
	case "panics":
		panic("out of order")
	case "hangs":
		select {}
	case "exits":
		os.Exit(7)
	}
}

func (b brokenCloud) InstanceExists(context.Context, *corev1.Node) (bool, error) {
	b.do()
	return false, nil
}

func (b brokenCloud) InstanceShutdown(context.Context, *corev1.Node) (bool, error) {
	b.do()
	return false, nil
}

func (b brokenCloud) InstanceMetadata(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	b.do()
	return nil, cloudprovider.InstanceNotFound
}

// Whatever the provider does, the report has all checks, the exit code is 1, and no
// process or goroutine is left.
func TestConformanceOfBrokenProviders(t *testing.T) {
	for does, row := range map[string]struct{ timeout, want string }{
		"panics": {"1m", "panic: out of order"},
		"hangs":  {"1s", "has not returned, although its context has ended|the process did not end within"},
		"exits":  {"1m", "the provider has ended the process \\(exit status 7\\)"},
	} {
		t.Run(does, func(t *testing.T) {
			t.Setenv(asBroken, does)
			children, goroutines := childrenOfThis(t), goroutinesOfSuite()
			file := filepath.Join(t.TempDir(), does)
			out, errs, code := conform(t, brokenProvider(does), "--cloud-provider=broken", "--machine=a", "--machine=b", "--check-timeout="+row.timeout, "--report="+file)
			if code != failedCode {
				t.Errorf("code %d, want %d:\n%s%s", code, failedCode, out, errs)
			}
			report, err := conformance.ReadReport(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Checks) != len(conformance.Checks()) || report.Result != conformance.Failure {
				t.Errorf("result %s, %d of %d checks", report.Result, len(report.Checks), len(conformance.Checks()))
			}
			tells := func(c conformance.CheckResult) bool {
				return c.Outcome == conformance.Failed && regexp.MustCompile(row.want).MatchString(c.Why)
			}
			if !slices.ContainsFunc(report.Checks, tells) {
				t.Errorf("no check has failed with %q:\n%s", row.want, out)
			}
			for _, child := range childrenOfThis(t) {
				if !slices.Contains(children, child) {
					t.Errorf("process %d is left", child)
				}
			}
			for deadline := time.Now().Add(time.Minute); goroutinesOfSuite() > goroutines; runtime.Gosched() {
				if time.Now().After(deadline) {
					t.Fatalf("goroutines of the suite are left: their stacks name %d more of its methods than before", goroutinesOfSuite()-goroutines)
				}
			}
		})
	}
}

// goroutinesOfSuite counts the methods of the suite in the stacks of all goroutines.
// The number grows with each goroutine of the suite.
func goroutinesOfSuite() int {
	text := make([]byte, 1<<20)
	return strings.Count(string(text[:runtime.Stack(text, true)]), "conformance.(*")
}

// childrenOfThis returns the child processes of this process that still run.
func childrenOfThis(t *testing.T) (all []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// The program's name is in parentheses and may contain any character. The
		// state and the parent follow it.
		_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[0] == "Z" || fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, id)
	}
	return all
}
