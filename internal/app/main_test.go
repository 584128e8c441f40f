package app

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	cloudprovider "k8s.io/cloud-provider"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/fairlead-k8s/fairlead/internal/app/internal/provider/providertest"
	"github.com/fairlead-k8s/fairlead/internal/app/internal/settings"
	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

// plain is the program without additions.
var plain = Options{Name: settings.ManagerName}

func TestMain(m *testing.M) {
	if url := os.Getenv(asWorld); url != "" && len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		serveWorld(url)
	}
	if args := os.Getenv(asProgram); args != "" && os.Getenv("FAIRLEAD_CONFORMANCE_CHECK") != "" {
		o := plain
		if os.Getenv(waitsShortly) != "" {
			o.Conformance = &conformance.Target{EventuallyWithin: time.Second, Features: conformance.Features{Supported: []conformance.Feature{conformance.StaticIP}}}
		}
		if os.Getenv(asWhole) != "" {
			o.Conformance = wholeTarget()
		}
		if does := os.Getenv(asBroken); does != "" {
			o = brokenProvider(does)
		}
		cmd := NewCommand(o)
		cmd.SetArgs(strings.Split(args, "\n"))
		os.Exit(ExitCode(cmd.ExecuteContext(context.Background()), 75))
	}
	// Several commands run in one process here, with the same logging flags. They
	// must not change the logging while another test logs.
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
	if err := newProgram(plain, nil).settings.Global.ApplyLogging(); err != nil {
		panic(err)
	}
	cloudprovider.RegisterCloudProvider("test", func(io.Reader) (cloudprovider.Interface, error) { return &providertest.Cloud{}, nil })
	os.Exit(m.Run())
}
