package main

import (
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
	"github.com/fairlead-k8s/fairlead/provider/conformance/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
)

func newWorld(s *session) *cobra.Command {
	c := s.command(&cobra.Command{
		Use:   "world VERB [ARGUMENT...]",
		Short: "Answer the conformance suite of providers",
		Long: `Answer the conformance suite of providers.

It makes the cloud the world of "cloud-controller-manager conformance --world": it
carries out one verb of the suite and prints a JSON object. Without a verb it prints
the verbs. The exit code is 3 if it cannot do what the verb asks for.`,
		Example: `  simcloud world
  simcloud world create-machine node-1
  printf '#!/bin/sh\nexec simcloud world "$@"\n' >world && chmod +x world
  cloud-controller-manager conformance --cloud-provider=simulated --cloud-config=cloud.yaml --world=./world --allow-writes --ledger=made.jsonl`,
		Args: cobra.ArbitraryArgs,
	}, func(ctx context.Context, _ *simulator.Client, out io.Writer, args []string) error {
		world := simulated.At(s.server)
		answer, err := conformance.Serve(ctx, world, args, world.ClearFaults)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(answer)
	})
	return c
}
