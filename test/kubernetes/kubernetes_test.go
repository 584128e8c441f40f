package kubernetes

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	_ "k8s.io/kubernetes/test/e2e/feature"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
	_ "k8s.io/kubernetes/test/e2e/network"
	_ "k8s.io/kubernetes/test/e2e/node"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

func TestMain(m *testing.M) {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	os.Exit(m.Run())
}

func TestKubernetes(t *testing.T) {
	bin := os.Getenv("FAIRLEAD_BIN")
	if bin == "" {
		t.Skip("FAIRLEAD_BIN is not set; `make test-kubernetes` sets it")
	}
	bin, err := filepath.Abs(bin)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bed.New(t.Context(), bed.Config{Programs: bed.Programs{Dir: bin}, Repository: "../.."})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	b.Kubelets(t, simulator.Instance{Name: "a"}, simulator.Instance{Name: "b"}, simulator.Instance{Name: "c"})
	b.Daemon(t, daemon.Setup{})
	for _, name := range []string{"a", "b", "c"} {
		b.AwaitNode(t, name, time.Minute, func(node *corev1.Node) error {
			if nodes.IsTainted(node) {
				return fmt.Errorf("not initialised")
			}
			return nil
		})
	}
	c := &framework.TestContext
	c.KubeConfig = b.Cluster.Kubeconfig
	c.KubectlPath = filepath.Join(bin, "kubectl")
	c.Provider = "skeleton"
	c.CloudConfig.NumNodes = 3
	c.DeleteNamespace = true
	gomega.RegisterFailHandler(framework.Fail)
	framework.AfterReadingAllFlags(c)
	c.IPFamily = "ipv4"
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.FocusStrings = nil
	suite.FocusFiles = []string{os.Getenv("FOCUSFILE")}
	if s := os.Getenv("SKIP"); s != "" {
		suite.SkipStrings = []string{s}
	}
	if s := os.Getenv("FOCUS"); s != "" {
		suite.FocusStrings = []string{s}
	}
	suite.Timeout = time.Hour
	reporter.Succinct = true
	ginkgo.RunSpecs(t, "Kubernetes", suite, reporter)
}

var _ = ginkgo.ReportAfterEach(func(r ginkgo.SpecReport) {
	if r.State.Is(types.SpecStateSkipped | types.SpecStatePending) && r.Failure.Message == "" {
		return
	}
	fmt.Printf("CASE %s %s %.0fs | %s\n", r.State, r.FullText(), r.RunTime.Seconds(), firstLine(r.Failure.Message))
})

func firstLine(s string) string {
	if len(s) > 300 {
		s = s[:300]
	}
	return fmt.Sprintf("%q", s)
}
