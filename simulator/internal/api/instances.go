package api

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func (s *Server) instances() kind {
	return kind{
		name:       "instance",
		endpoints:  s.instanceEndpoints(),
		collection: collection("instances", s.store.ListInstances),
		identify:   s.store.IdentifyInstances,
		note:       func(r *wire.CallRecord, word string) { r.Instance = word },
	}
}

func (s *Server) instanceEndpoints() []endpoint {
	one := "/instances/{id}"
	name := func(i wire.Instance) string { return i.Name }
	return []endpoint{
		{http.MethodGet, "/instances", wire.ListInstances, listing(s, s.store.ListInstances)},
		{http.MethodGet, "/instances/changes", wire.WatchInstances, readWatch(s.store.WatchInstances)},
		{http.MethodPost, "/instances", wire.CreateInstance, creating(name, s.store.CreateInstance)},
		{http.MethodGet, one, wire.GetInstance, onOne(s.store.Instance)},
		{http.MethodPatch, one, wire.UpdateInstance, patching(s.store.UpdateInstance)},
		{http.MethodPost, one + "/start", wire.StartInstance, onOne(s.store.StartInstance)},
		{http.MethodPost, one + "/stop", wire.StopInstance, onOne(s.store.StopInstance)},
		{http.MethodDelete, one, wire.TerminateInstance, withoutBody(onOne(s.store.TerminateInstance))},
	}
}

// longestWatch is the maximum time that a call waits for a change.
const longestWatch = 5 * time.Minute

// readWatch returns the reader for requests that wait for changes.
func readWatch(watch func(context.Context, state.Watch, state.Distortions) (wire.InstanceChanges, error)) reader {
	return func(r *http.Request, _ []byte) (operation, error) {
		w := state.Watch{Wait: time.Minute}
		values, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			return operation{}, input.Invalid("query", "%v", err)
		}
		for parameter, given := range values {
			switch parameter {
			case "since":
				w.Since = given[0]
			case "wait":
				w.Wait, err = time.ParseDuration(given[0])
				if err != nil || w.Wait < 0 || w.Wait > longestWatch {
					return operation{}, input.Invalid(parameter, "%q is not a duration up to %v", given[0], longestWatch)
				}
			default:
				return operation{}, input.Invalid(parameter, "is not a parameter of a watch; it takes since and wait")
			}
		}
		run := func(ctx context.Context, v state.Distortions) (reply, error) {
			changes, err := watch(ctx, w, v)
			return reply{http.StatusOK, changes}, err
		}
		return operation{run: run}, nil
	}
}
