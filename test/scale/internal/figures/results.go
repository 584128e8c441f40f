// Package figures makes the tables and the picture of the documents from the committed
// results of benchmarks.
package figures

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

// Result is a result file.
type Result struct {
	report.Report

	// Name is the file's name without its ending.
	Name string
}

// Results has all committed results, the newest first.
type Results []Result

// Read reads the results of a folder.
func Read(dir string) (Results, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var all Results
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r := Result{Name: strings.TrimSuffix(filepath.Base(file), ".json")}
		if err := json.Unmarshal(text, &r.Report); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(x, y Result) int { return -cmp.Or(cmp.Compare(x.Date, y.Date), cmp.Compare(x.Name, y.Name)) })
	return all, nil
}

// found has the figures of one scenario, and the result that has them. They are
// from the newest result that has the scenario.
type found struct {
	page               string
	fairlead, skeleton report.Row // skeleton is empty if it was not measured
	nodes, services    int
	flags              map[string]string // of the benchmark
}

// newest returns the figures of a scenario from the newest result that has the
// scenario. Failed runs do not count.
func (all Results) newest(scenario string) (found, bool) {
	for _, r := range all {
		f := found{page: r.Name, flags: r.Flags}
		for _, row := range r.Rows {
			if row.Scenario != scenario || row.Error != "" {
				continue
			}
			switch row.Contender {
			case string(contender.Fairlead):
				f.fairlead = row
			case string(contender.Skeleton):
				f.skeleton = row
			}
		}
		if f.fairlead.Scenario == "" {
			continue
		}
		f.nodes = cmp.Or(f.fairlead.Nodes, number(r.Flags["nodes"]))
		f.services = cmp.Or(f.fairlead.Services, number(r.Flags["services"]))
		return f, true
	}
	return found{}, false
}

// number parses a number. It returns 0 if the text is not a number.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}
