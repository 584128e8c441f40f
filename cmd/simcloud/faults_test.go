package main

import (
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/simulator"
)

func TestHelpNamesEachKindOfFault(t *testing.T) {
	for _, kind := range simulator.FaultKinds() {
		if !strings.Contains(faultKindsHelp, "\n  "+string(kind)+" ") {
			t.Errorf("simcloud fault set --help does not name %s", kind)
		}
	}
}
