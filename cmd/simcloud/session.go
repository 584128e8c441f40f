package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/internal/printable"
	"github.com/fairlead-k8s/fairlead/simulator"
)

const (
	serverVariable = "SIMCLOUD_SERVER"

	operator = "operator"
	customer = "customer"

	tableOutput = "table"
	jsonOutput  = "json"
)

// session has the flags of all commands that call a cloud.
type session struct {
	server string
	role   string
	output string
}

// do is a function that does the work of a command.
type do func(ctx context.Context, client *simulator.Client, out io.Writer, args []string) error

// command turns c into a command that calls a cloud. It adds the flags that all these
// commands have. The command then does its work by calling do.
func (s *session) command(c *cobra.Command, do do) *cobra.Command {
	server := os.Getenv(serverVariable)
	if server == "" {
		server = "http://" + defaultAddress
	}
	c.Flags().StringVar(&s.server, "server", server, "URL of the cloud; the default can be set with "+serverVariable)
	c.Flags().StringVar(&s.role, "as", operator, "role of the caller: operator, or customer, whose calls meet the faults and the quota")
	c.Flags().StringVarP(&s.output, "output", "o", tableOutput, "output format: table or json")
	complete(c, cobra.NoFileCompletions, "server")
	complete(c, cobra.FixedCompletions([]string{operator, customer}, cobra.ShellCompDirectiveNoFileComp), "as")
	complete(c, cobra.FixedCompletions([]string{tableOutput, jsonOutput}, cobra.ShellCompDirectiveNoFileComp), "output")
	if c.ValidArgsFunction == nil {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	c.Args = explainedArgs(c.Args)
	c.RunE = func(c *cobra.Command, args []string) error {
		client, err := s.client()
		if err != nil {
			return err
		}
		return s.explained(do(c.Context(), client, c.OutOrStdout(), args))
	}
	return c
}

// explainedArgs replaces the error of a check of arguments: the new error shows the
// usage of the command.
func explainedArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if check(c, args) != nil {
			return fmt.Errorf("want `%s`, got %d arguments; --help says more", c.UseLine(), len(args))
		}
		return nil
	}
}

func (s *session) client() (*simulator.Client, error) {
	if !slices.Contains([]string{tableOutput, jsonOutput}, s.output) {
		return nil, fmt.Errorf("--output: %q is neither table nor json", s.output)
	}
	if !strings.Contains(s.server, "://") {
		s.server = "http://" + s.server
	}
	if u, err := url.Parse(s.server); err != nil || u.Host == "" {
		return nil, fmt.Errorf("--server: %q is not a URL such as http://%s", s.server, defaultAddress)
	}
	client := simulator.NewClient(s.server)
	switch s.role {
	case operator:
		return client.Operator(), nil
	case customer:
		return client, nil
	}
	return nil, fmt.Errorf("--as: %q is neither operator nor customer", s.role)
}

// explained adds advice to an error, if there is any.
func (s *session) explained(err error) error {
	var noHost *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no simulated cloud at %s: start one with `simcloud serve`, or name one with --server or %s", s.server, serverVariable)
	case errors.As(err, &noHost):
		return fmt.Errorf("--server: there is no host %q: %w", noHost.Name, err)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("--server: the cloud does not serve https; begin the URL with http: %w", err)
	default:
		return err
	}
}

// say prints a sentence for people. With JSON as the output format it prints nothing.
func (s *session) say(out io.Writer, format string, args ...any) error {
	if s.output == jsonOutput {
		return nil
	}
	_, err := fmt.Fprintln(out, printable.Line(fmt.Sprintf(format, args...), textLimit))
	return err
}

// completionTimeout is the time that the shell waits for the cloud's answer.
const completionTimeout = time.Second

// suggest returns a completion that asks the cloud for possible values of an
// argument. If the cloud does not answer, it suggests nothing.
func (s *session) suggest(ask func(context.Context, *simulator.Client) ([]string, error)) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		client, err := s.client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionTimeout)
		defer cancel()
		words, err := ask(ctx, client.Operator())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// complete sets the completion of flags. If a flag does not exist, it panics, because
// that is a programming error.
func complete(c *cobra.Command, with cobra.CompletionFunc, flags ...string) {
	for _, flag := range flags {
		if err := c.RegisterFlagCompletionFunc(flag, with); err != nil {
			panic(err)
		}
	}
}
