package kubernetes

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	_ "k8s.io/kubernetes/test/e2e/feature"
	"k8s.io/kubernetes/test/e2e/framework"
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
	_ "k8s.io/kubernetes/test/e2e/network"
	_ "k8s.io/kubernetes/test/e2e/node"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// limit is for all cases together. A case that hangs waits for five minutes, several times.
const limit = 14 * time.Minute

// TestCases runs the cases of runs. All other cases of the same files must have a reason in refused.
func TestCases(t *testing.T) {
	wanted := selected(t, ginkgo.PreviewSpecs("Kubernetes").SpecReports)
	bin := os.Getenv("FAIRLEAD_BIN")
	if bin == "" {
		t.Skip("FAIRLEAD_BIN must be the folder of the programs; `make test-kubernetes` sets it")
	}
	cluster := startCluster(t, bin)

	flags := flag.NewFlagSet("", flag.ContinueOnError) // Registering the flags sets the defaults.
	framework.RegisterCommonFlags(flags)
	framework.RegisterClusterFlags(flags)
	c := &framework.TestContext
	c.KubeConfig, c.KubectlPath, c.Provider = cluster.Cluster.Kubeconfig, filepath.Join(bin, "kubectl"), "skeleton"
	gomega.RegisterFailHandler(framework.Fail)
	framework.AfterReadingAllFlags(c)
	c.CloudConfig.NumNodes, c.IPFamily = len(machines), "ipv4"

	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.Timeout, reporter.Succinct, reporter.NoColor = limit, true, true
	for _, text := range wanted {
		suite.FocusStrings = append(suite.FocusStrings, regexp.QuoteMeta(text)+"$")
	}
	ginkgo.ReportAfterSuite("a line for each case", summarize)
	ginkgo.RunSpecs(t, "Kubernetes", suite, reporter)
}

// summarize prints a line for each case. A case that skips itself is a failure, because it has shown nothing.
func summarize(r ginkgo.Report) {
	var passed int
	var skipped []string
	fmt.Println()
	for _, c := range r.SpecReports {
		switch {
		case c.LeafNodeType != types.NodeTypeIt || c.State == types.SpecStateSkipped && c.Failure.IsZero():
			continue
		case c.State == types.SpecStatePassed:
			passed++
		case c.State == types.SpecStateSkipped:
			skipped = append(skipped, c.FullText())
		}
		fmt.Printf("%-8s %4.0f s  %s\n", c.State, c.RunTime.Seconds(), c.FullText())
	}
	fmt.Printf("%d of %d cases passed\n", passed, len(runs))
	if len(skipped) > 0 {
		ginkgo.Fail("skipped themselves: " + strings.Join(skipped, "; "))
	}
}

var machines = []string{"e2e-a", "e2e-b", "e2e-c"}

// startCluster starts the playground, a daemon and three nodes, and waits until the daemon has initialised them.
func startCluster(t *testing.T, bin string) *bed.Bed {
	t.Helper()
	b, err := bed.New(t.Context(), bed.Config{Programs: bed.Programs{Dir: bin}, Repository: "../.."})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	b.Daemon(t, daemon.Setup{FastPaths: true})
	for _, name := range machines {
		b.Kubelet(t, simulator.Instance{Name: name})
		b.AwaitNode(t, name, time.Minute, func(node *corev1.Node) error {
			if nodes.IsTainted(node) {
				return errors.New("the daemon has not initialised it")
			}
			return nil
		})
	}
	return b
}

var (
	tags    = regexp.MustCompile(` ?\[[^\]]*\]`)
	sources = regexp.MustCompile(`/test/e2e/(network/(loadbalancer|service)|node/\w+)\.go$`)
)

// selected returns the full texts of the cases in runs. It fails the test if a case of the files is in no table, or if
// a row matches no case.
func selected(t *testing.T, specs types.SpecReports) (texts []string) {
	t.Helper()
	used := map[string]bool{}
	for _, spec := range specs {
		text := strings.TrimSpace(tags.ReplaceAllString(spec.FullText(), ""))
		row := func(row string) bool { return strings.Contains(text, row) }
		if !sources.MatchString(spec.LeafNodeLocation.FileName) {
			continue
		}
		if slices.Contains(runs, text) {
			used[text] = true
			texts = append(texts, spec.FullText())
			continue
		}
		known := slices.ContainsFunc(refused, func(r refusal) bool {
			n := slices.IndexFunc(r.cases, row)
			if n >= 0 {
				used[r.cases[n]] = true
			}
			return n >= 0
		})
		if !known {
			t.Errorf("no row for %q (%s)", text, spec.LeafNodeLocation)
		}
	}
	rows := slices.Clone(runs)
	for _, r := range refused {
		rows = append(rows, r.cases...)
	}
	for _, row := range rows {
		if !used[row] {
			t.Errorf("no case for the row %q", row)
		}
	}
	return texts
}
