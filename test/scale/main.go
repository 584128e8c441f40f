// Command scale measures Fairlead and the community's skeleton of a
// cloud-controller-manager side by side. Both run with a real control plane, a
// simulated cloud, and Node objects without kubelets.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/scenario"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM) //nolint:forbidigo // it is main
	err := run(ctx, os.Args[1:], clock.RealClock{})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:forbidigo // it is main
	}
}

func run(ctx context.Context, args []string, c clock.WithTicker) (err error) {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return help(os.Stdout)
	}
	if err != nil {
		return err
	}
	programs, err := versions(ctx, o.bin, o.contenders)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fairlead-bench-")
	if err != nil {
		return err
	}
	defer func() {
		if o.keepLogs {
			fmt.Fprintln(os.Stderr, "The logs are in", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	machine := report.ThisMachine()
	if machine.IsBusy() {
		fmt.Fprintf(os.Stderr, "This machine is busy (load %.1f, %d cores): times will be too long.\n", machine.Load, machine.Cores)
	}
	began := c.Now()
	done, all := 0, scenario.Count(o.chosen, o.contenders)
	bench := scenario.Bench{
		Settings: o.settings, Bin: o.bin, Dir: dir, Keep: o.keepLogs, Clock: c, SideBySide: o.sideBySide,
		Progress: func(e scenario.Event) {
			if e.Done {
				done++
			}
			fmt.Fprintf(os.Stderr, "%s  %d/%d  %-34s %s\n", e.At.Format(time.TimeOnly), done, all, e.Trial, strings.TrimRight(e.Text, "\n"))
		},
	}
	rows := bench.Run(ctx, o.chosen, o.contenders)
	result := report.Report{
		Date: began.UTC().Format(time.RFC3339), Machine: machine, Programs: programs, Flags: o.flags,
		Seconds: c.Since(began).Seconds(), Rows: rows,
	}
	if ctx.Err() != nil { // Incomplete numbers are printed, but not written as a result.
		return errors.Join(context.Cause(ctx), result.WriteTable(os.Stdout))
	}
	return errors.Join(deliver(result, o), complete(result))
}

// versions runs each contender's program to get its version. This also shows that
// the program exists.
func versions(ctx context.Context, bin string, contenders []contender.Name) ([]report.Program, error) {
	var programs []report.Program
	for _, c := range contenders {
		version, err := contender.Version(ctx, contender.Program(bin, c, contender.Simulated))
		if err != nil {
			return nil, err
		}
		programs = append(programs, report.Program{Name: string(c), Version: version})
	}
	return programs, nil
}

// deliver prints the report, and writes it to the folder that the options name.
func deliver(r report.Report, o options) error {
	errs := []error{r.WriteTable(os.Stdout)}
	if o.writeTo != "" {
		base := r.Date[:len(time.DateOnly)] + "-" + o.name
		page := filepath.Join(o.writeTo, base+".md")
		errs = append(errs,
			os.MkdirAll(o.writeTo, 0o755),
			write(filepath.Join(o.writeTo, base+".json"), r.WriteJSON),
			write(page, func(w io.Writer) error { return r.WriteMarkdown(w, base+".json") }))
		fmt.Fprintf(os.Stderr, "All of it took %.0f min. The result is in %s and in the JSON beside it.\n", r.Seconds/60, page)
	}
	return errors.Join(errs...)
}

func write(file string, content func(io.Writer) error) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return content(f)
}

// complete returns an error if the report lacks numbers.
func complete(r report.Report) error {
	if failed := r.Failed(); len(failed) > 0 {
		return fmt.Errorf("without a result: %s", strings.Join(failed, ", "))
	}
	return nil
}
