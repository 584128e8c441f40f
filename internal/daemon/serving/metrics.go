package serving

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
)

// gatherers are registries that are served together. If two registries have a metric
// of the same name, the metric of the earlier registry is served. Names clash if a
// program links a package of k8s.io/cloud-provider that registers upstream's
// metrics.
type gatherers []metrics.Gatherer

// foreign is a registry of the program. If it returns an error, the metrics that it
// has gathered are still served. If it panics, none of its metrics are served. Our
// metrics are served in both cases.
type foreign struct{ metrics.Gatherer }

// Gather never returns an error.
func (f foreign) Gather() (families []*dto.MetricFamily, _ error) {
	var err error
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panicked: %v", p)
		}
		if err != nil {
			klog.Background().Error(err, "Metrics of the program are not complete")
		}
	}()
	families, err = f.Gatherer.Gather()
	return families, nil
}

// Gather returns the metrics in the order of their names.
func (g gatherers) Gather() ([]*dto.MetricFamily, error) {
	var (
		all   []*dto.MetricFamily
		errs  []error
		shown = map[string]bool{}
	)
	for _, registry := range g {
		families, err := registry.Gather()
		errs = append(errs, err)
		for _, f := range families {
			if !shown[f.GetName()] {
				shown[f.GetName()] = true
				all = append(all, f)
			}
		}
	}
	slices.SortFunc(all, func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return all, errors.Join(errs...)
}
