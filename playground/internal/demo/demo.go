// Package demo shows what Fairlead does, on one machine: a simulated cloud, a real control
// plane with a kubelet for each instance of the cloud, and the cloud-controller-manager
// between them. With Options.Check, the demo is also a test: it checks the results that it
// has shown.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/ports"
	"github.com/fairlead-k8s/fairlead/playground/internal/cluster"
	"github.com/fairlead-k8s/fairlead/playground/internal/clusterview"
	"github.com/fairlead-k8s/fairlead/playground/internal/progress"
	"github.com/fairlead-k8s/fairlead/playground/internal/session"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// Options configure the demo.
type Options struct {
	// Playground, Simcloud and CCM are the executables.
	Playground, Simcloud, CCM string
	// Check makes the demo delete the Service, check all results, and end.
	Check bool
	// Timeout is the time that the demo has to show everything.
	Timeout time.Duration
	Out     io.Writer
	Clock   clock.WithTicker
}

// demo is one run of the demo.
type demo struct {
	Options
	session *session.Session
	cluster *cluster.Cluster
	steps   *progress.Steps
	ports   ports.Picker
	// background starts work in a new goroutine. The work can go on after the last scene, until
	// the session ends.
	background func(work func(context.Context) error)

	// view serves the description of the cluster to the cloud's page.
	view     *clusterview.Server
	cloud    *simulator.Client
	cloudURL string
	seen     facts
}

// Run shows the demo until ctx ends. With Check, it returns when everything has been shown. If a
// scene or a check has failed, Run returns an error.
func Run(ctx context.Context, o Options) error {
	return session.Run(ctx, "", func(ctx context.Context, s *session.Session) error {
		d := &demo{Options: o, session: s, steps: progress.To(o.Out, o.Clock), view: clusterview.New(o.Clock)}
		d.background = func(work func(context.Context) error) { s.Go(func() error { return work(ctx) }) }
		d.cluster = cluster.New(cluster.Config{Executable: o.Playground, DataDir: s.DataDir, NodeMonitorGracePeriod: silentAfter, Clock: o.Clock}, s.Children)
		d.printf("Three instances of a simulated cloud become nodes of a real Kubernetes control plane.\n\n")
		if err := d.show(ctx, d.scenes()); err != nil {
			return err
		}
		d.printf("\n%s\n", d.seen.table())
		if o.Check {
			if err := d.show(ctx, d.end()); err != nil {
				return err
			}
			return d.check()
		}
		d.printf("%s", d.hints())
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			return cause
		}
		return nil
	})
}

// show goes through the scenes. If a scene fails, show prints an autopsy, which helps to
// find the reason.
func (d *demo) show(ctx context.Context, scenes []scene) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d.Timeout, fmt.Errorf("not done after %s (--timeout)", d.Timeout))
	defer cancel()
	for _, scene := range scenes {
		if err := scene.play(ctx); err != nil {
			if errors.Is(err, context.Canceled) { // the user has ended the demo
				return err
			}
			d.printf("\n%s", d.autopsy(ctx, scene.children))
			return err
		}
	}
	return nil
}

// check prints each check and its result. It returns an error if a check has failed.
func (d *demo) check() error {
	wrong := 0
	d.printf("\n")
	for _, c := range d.seen.checks() {
		if c.problem != "" {
			wrong++
			d.printf("WRONG  %s: %s\n", c.what, c.problem)
			continue
		}
		d.printf("ok     %s\n", c.what)
	}
	if wrong > 0 {
		return fmt.Errorf("%d things are not as they should be", wrong)
	}
	d.printf("\nAll is as it should be.\n")
	return nil
}

func (d *demo) hints() string {
	e := d.cluster.Endpoints()
	simcloud, playground := fromHere(d.Simcloud), fromHere(d.Playground)
	url, another := serviceURL(d.seen.balancers), "# each time another node answers"
	if url != "http://"+address(d.seen.service)+"/" {
		another += "; port 80 needs a privilege, so this port is used"
	}
	commands := [][]string{
		{"  curl " + url, another},
		{"  kubectl edit service " + app, "# with externalTrafficPolicy: Local it is always the pod's node"},
		{"  " + simcloud + " lb list", "# what the cloud has for the Service"},
		{"  kubectl delete service " + app, "# and it has nothing any more"},
		{"  kubectl describe node node-1", "# what it has from the cloud, and what happened to it"},
		{"  " + simcloud + " route list", "# how the pods of each node are reached"},
		{"  " + simcloud + " resize node-1 large", fmt.Sprintf("# its label follows within %s", refresh)},
		{"  " + simcloud + " create node-4 --zone sim-1b", "# one more machine, one more node"},
		{"  " + simcloud + " terminate node-3", "# its node goes after about two minutes, because it is young"},
		{"  " + simcloud + " fault set denied", "# nodes created from now on wait, and say why"},
	}
	commands = append(commands, d.questions()...)
	commands = append(commands, [][]string{
		{"  " + simcloud + " fault clear", "# and go on"},
		{"  " + simcloud + " calls", "# what the cloud was asked"},
		{"  " + playground + " status --data-dir " + e.DataDir},
	}...)
	return fmt.Sprintf(`It all keeps running. Try in another terminal:

  export KUBECONFIG=%[1]s
  export SIMCLOUD_SERVER=%[2]s

%[3]s
The cloud and the cluster, live, in a browser: %[2]s
Logs: %[4]s
Ctrl-C ends it all.

`, e.Kubeconfig, d.cloudURL, aligned(commands), d.session.LogDir)
}

// questions returns commands of the program fairlead for the user to try. If that program is
// not in the same folder as simcloud, questions returns none.
func (d *demo) questions() [][]string {
	program := filepath.Join(filepath.Dir(d.Simcloud), "fairlead")
	if _, err := os.Stat(program); err != nil {
		return nil
	}
	fairlead := fromHere(program)
	return [][]string{
		{"  " + fairlead + " explain --waiting", "# what waits, and why"},
		{"  " + fairlead + " doctor", "# what is wrong with the cluster's cloud-controller-manager"},
	}
}

// fromHere returns the path relative to the working directory, as a user would type it. If the file
// is not below the working directory, fromHere returns the path unchanged.
func fromHere(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(short) && filepath.Base(short) != short {
		return short
	}
	return path
}

// printf prints something. It ignores errors: they mean that nobody reads the output any more.
func (d *demo) printf(format string, args ...any) { _, _ = fmt.Fprintf(d.Out, format, args...) }
