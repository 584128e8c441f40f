package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/internal/typo"
	"github.com/fairlead-k8s/fairlead/simulator"
)

func newCalls(s *session) *cobra.Command {
	var reset bool
	var last int
	c := s.command(&cobra.Command{
		Use:   "calls",
		Short: "Show the calls of customers, how often they were made, and their results",
		Example: `  simcloud calls
  simcloud calls --last 200
  simcloud calls --reset`,
		Args: typo.NoArguments,
	}, func(ctx context.Context, client *simulator.Client, out io.Writer, _ []string) error {
		if last < 0 {
			return fmt.Errorf("--last must not be negative, but got %d", last)
		}
		report, err := client.Calls(ctx)
		if err != nil {
			return err
		}
		if err := s.printCalls(out, report, last); err != nil || !reset {
			return err
		}
		return client.ResetCalls(ctx)
	})
	c.Flags().BoolVar(&reset, "reset", false, "forget the calls after they are shown")
	c.Flags().IntVar(&last, "last", 10, "how many of the last calls to show; the cloud remembers 200")
	return c
}

func (s *session) printCalls(out io.Writer, report simulator.CallReport, last int) error {
	if s.output == jsonOutput {
		return printJSON(out, report)
	}
	if len(report.Counters) == 0 {
		return s.say(out, "No calls. What this tool does is counted only with --as customer.")
	}
	rows := [][]string{{"CALL", "RESULT", "COUNT"}}
	for _, c := range report.Counters {
		rows = append(rows, []string{string(c.Call), c.Result, strconv.FormatInt(c.Count, 10)})
	}
	if err := printTable(out, rows); err != nil {
		return err
	}
	recent := report.Last[max(0, len(report.Last)-max(0, last)):]
	if len(recent) == 0 {
		return nil
	}
	rows = [][]string{{"TIME", "CALL", "RESOURCE", "STATUS", "RESULT", "DURATION"}}
	for _, r := range recent {
		rows = append(rows, []string{
			r.Time.Local().Format("15:04:05.000"), string(r.Call), orNone(r.Resource(), "-"),
			strconv.Itoa(r.Status), r.Result, time.Duration(r.Duration).Round(10 * time.Microsecond).String(),
		})
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	return printTable(out, rows)
}
