package alerts

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

const file = "../../charts/fairlead/files/alerts.yaml"

// alertsInFile returns the alerts of the chart by name. Prometheus itself checks
// the file, including its templates.
func alertsInFile(t *testing.T) map[string]rulefmt.Rule {
	t.Helper()
	return alertsIn(t, file)
}

// alertsIn returns the alerts of a file by name.
func alertsIn(t *testing.T, file string) map[string]rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(file, false, model.LegacyValidation, parser.NewParser(parser.Options{}), promslog.NewNopLogger())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	found := map[string]rulefmt.Rule{}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" || r.KeepFiringFor != 0 {
				t.Fatalf("this test cannot evaluate %+v", r)
			}
			found[r.Alert] = r
		}
	}
	return found
}

// scrapeEvery and evaluateEvery are the defaults of Prometheus. phase is the time of an
// evaluation relative to a scrape. A second before the scrape is the worst case. history
// is the time before the trouble starts.
const (
	scrapeEvery   = time.Minute
	evaluateEvery = time.Minute
	phase         = -time.Second
	history       = 20 * time.Minute
)

// firesAfter returns the time from the start of the trouble until the alert fires. It
// returns false if the alert does not fire within an hour. The trouble starts just
// after a scrape, so the next scrape is the first to see it.
func firesAfter(t *testing.T, rule rulefmt.Rule, all []series) (time.Duration, bool) {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{})})
	defer engine.Close()
	data := queryable(t, all)
	start := time.Unix(1e6, 0)
	active := map[uint64]time.Duration{} // when each series began to match the rule, by the hash of its labels
	for now := -history + phase; now < time.Hour; now += evaluateEvery {
		query, err := engine.NewInstantQuery(t.Context(), data, nil, rule.Expr, start.Add(now))
		if err != nil {
			t.Fatal(err)
		}
		vector, err := query.Exec(t.Context()).Vector()
		if err != nil {
			t.Fatal(err)
		}
		seen := map[uint64]time.Duration{}
		for _, s := range vector {
			hash := s.Metric.Hash()
			since, known := active[hash]
			if !known {
				since = now
			}
			seen[hash] = since
			if now-since >= time.Duration(rule.For) {
				return now, true
			}
		}
		active = seen
		query.Close()
	}
	return 0, false
}

// series is a metric with its labels and its values over time. The function value returns
// the metric's value. Its argument is the time since the start of the trouble. It returns
// false while the metric is absent.
type series struct {
	metric string
	value  func(since time.Duration) (float64, bool)
}

// queryable returns the samples that Prometheus would have scraped.
func queryable(t *testing.T, all []series) storage.Queryable {
	t.Helper()
	var stored []storage.Series
	for _, s := range all {
		metric, err := parser.NewParser(parser.Options{}).ParseMetric(s.metric)
		if err != nil {
			t.Fatal(err)
		}
		var samples []chunks.Sample
		for now := -history; now < time.Hour; now += scrapeEvery {
			if value, ok := s.value(now); ok {
				samples = append(samples, sample{time.Unix(1e6, 0).Add(now).UnixMilli(), value})
			}
		}
		stored = append(stored, storage.NewListSeries(metric, samples))
	}
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			matching := slices.DeleteFunc(slices.Clone(stored), func(s storage.Series) bool {
				return slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) })
			})
			return &set{series: matching, at: -1}
		},
	}}
}

// set is a storage.SeriesSet.
type set struct {
	series []storage.Series
	at     int
}

func (s *set) Next() bool                        { s.at++; return s.at < len(s.series) }
func (s *set) At() storage.Series                { return s.series[s.at] }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }

// sample is a chunks.Sample with a float value.
type sample struct {
	at    int64
	value float64
}

func (s sample) T() int64                      { return s.at }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }
