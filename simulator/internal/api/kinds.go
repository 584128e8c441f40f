package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/internal/view"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// kind describes one kind of resource to the code that serves all kinds.
type kind struct {
	name      string // the key in the log
	endpoints []endpoint
	// collection returns all resources of the kind, for watchers.
	collection view.Collection
	// identify completes the subject of a call: it adds the ID and the name of each
	// resource that the subject selects.
	identify func(context.Context, state.Subject) state.Subject
	// note writes the ID or name of the resource into a record.
	note func(*wire.CallRecord, string)
}

// kinds returns all kinds of resources.
func (s *Server) kinds() []kind {
	return []kind{s.instances(), s.loadBalancers(), s.routes(), s.staticIPs(), s.volumes()}
}

func (s *Server) collections() []view.Collection {
	var all []view.Collection
	for _, k := range s.kinds() {
		all = append(all, k.collection)
	}
	return all
}

func (s *Server) instances() kind {
	const all, one = "/instances", "/instances/{id}"
	of, name := s.store.Instances, func(i wire.Instance) string { return i.Name }
	return kind{
		"instance",
		[]endpoint{
			{http.MethodGet, all, wire.ListInstances, listing(s, of.List)},
			{http.MethodGet, all + "/changes", wire.WatchInstances, readWatch(s.store.WatchInstances)},
			{http.MethodPost, all, wire.CreateInstance, creating(name, s.store.CreateInstance)},
			{http.MethodGet, one, wire.GetInstance, onOne(of.Get)},
			{http.MethodPatch, one, wire.UpdateInstance, patching(s.store.UpdateInstance)},
			{http.MethodPost, one + "/start", wire.StartInstance, onOne(s.store.StartInstance)},
			{http.MethodPost, one + "/stop", wire.StopInstance, onOne(s.store.StopInstance)},
			{http.MethodDelete, one, wire.TerminateInstance, withoutBody(onOne(s.store.TerminateInstance))},
		},
		collection(all, of.List), of.Identify, func(r *wire.CallRecord, word string) { r.Instance = word },
	}
}

func (s *Server) staticIPs() kind {
	const all, one = "/static-ips", "/static-ips/{id}"
	of, name := s.store.StaticIPs, func(i wire.StaticIP) string { return i.Name }
	return kind{
		"staticIP",
		[]endpoint{
			{http.MethodGet, all, wire.ListStaticIPs, listing(s, of.List)},
			{http.MethodPost, all, wire.CreateStaticIP, creating(name, s.store.CreateStaticIP)},
			{http.MethodGet, one, wire.GetStaticIP, onOne(of.Get)},
			{http.MethodDelete, one, wire.ReleaseStaticIP, withoutBody(onOne(s.store.ReleaseStaticIP))},
		},
		collection(all, of.List), of.Identify, func(r *wire.CallRecord, word string) { r.StaticIP = word },
	}
}

func (s *Server) volumes() kind {
	const all, one = "/volumes", "/volumes/{id}"
	of, name := s.store.Volumes, func(v wire.Volume) string { return v.Name }
	return kind{
		"volume",
		[]endpoint{
			{http.MethodGet, all, wire.ListVolumes, listing(s, of.List)},
			{http.MethodPost, all, wire.CreateVolume, creating(name, s.store.CreateVolume)},
			{http.MethodGet, one, wire.GetVolume, onOne(of.Get)},
			{http.MethodDelete, one, wire.DeleteVolume, withoutBody(onOne(s.store.DeleteVolume))},
		},
		collection(all, of.List), of.Identify, func(r *wire.CallRecord, word string) { r.Volume = word },
	}
}

func (s *Server) routes() kind {
	const all, one = "/routes", "/routes/{id}"
	of, name := s.store.Routes, func(r wire.Route) string { return r.Name }
	return kind{
		"route",
		[]endpoint{
			{http.MethodGet, all, wire.ListRoutes, listing(s, of.List, "tag")},
			{http.MethodPost, all, wire.CreateRoute, creating(name, s.store.CreateRoute)},
			{http.MethodPost, all + "/changes", wire.ChangeRoutes, s.readRouteChanges},
			{http.MethodGet, one, wire.GetRoute, onOne(of.Get)},
			{http.MethodDelete, one, wire.DeleteRoute, withoutBody(onOne(s.store.DeleteRoute))},
		},
		collection(all, of.List), of.Identify, func(r *wire.CallRecord, word string) { r.Route = word },
	}
}

func (s *Server) loadBalancers() kind {
	const all, one = "/load-balancers", "/load-balancers/{id}"
	name := func(l wire.LoadBalancer) string { return l.Name }
	list := func(ctx context.Context, q state.Query, v state.Distortions) ([]wire.LoadBalancer, string) {
		page, next := s.store.LoadBalancers.List(ctx, q, v)
		for n := range page {
			page[n].Traffic = s.forwarder.Traffic(page[n].ID)
		}
		return page, next
	}
	get := func(ctx context.Context, id string, v state.Distortions) (wire.LoadBalancer, error) {
		l, err := s.store.LoadBalancers.Get(ctx, id, v)
		if err == nil {
			l.Traffic = s.forwarder.Traffic(id)
		}
		return l, err
	}
	return kind{
		"loadBalancer",
		[]endpoint{
			{http.MethodGet, all, wire.ListLoadBalancers, listing(s, list, "tag")},
			{http.MethodPost, all, wire.CreateLoadBalancer, creating(name, s.store.CreateLoadBalancer)},
			{http.MethodPost, all + "/backends", wire.SetBackends, s.readSharedBackends},
			{http.MethodGet, one, wire.GetLoadBalancer, onOne(get)},
			{http.MethodPatch, one, wire.UpdateLoadBalancer, patching(s.store.UpdateLoadBalancer)},
			{http.MethodDelete, one, wire.DeleteLoadBalancer, withoutBody(onOne(s.store.DeleteLoadBalancer))},
		},
		collection(all, list), s.store.LoadBalancers.Identify, func(r *wire.CallRecord, word string) { r.LoadBalancer = word },
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

// readSharedBackends reads a request that gives several load balancers the same backends.
func (s *Server) readSharedBackends(_ *http.Request, body []byte) (operation, error) {
	wanted, err := input.Decode[wire.SharedBackends](body)
	if n := len(wanted.Names); err == nil && (n == 0 || n > wire.MaxSharedBackends) {
		err = input.Invalid("names", "%d are given; a call takes 1 to %d", n, wire.MaxSharedBackends)
	}
	run := func(ctx context.Context, v state.Distortions) (reply, error) {
		var answer wire.BackendOutcomes
		for _, err := range s.store.SetBackends(ctx, wanted, v) {
			status, detail := outcome(err, http.StatusOK)
			answer.Outcomes = append(answer.Outcomes, wire.BackendResult{Status: status, Error: detail})
		}
		return reply{http.StatusOK, answer}, nil
	}
	return operation{about: state.Subject{Names: wanted.Names}, run: run}, err
}

// readRouteChanges reads a request with 1 to MaxRouteChanges changes. Each of them must
// either create or delete a route.
func (s *Server) readRouteChanges(_ *http.Request, body []byte) (operation, error) {
	wanted, err := input.Decode[wire.RouteChanges](body)
	if n := len(wanted.Changes); err == nil && (n == 0 || n > wire.MaxRouteChanges) {
		err = input.Invalid("changes", "%d are given; a call takes 1 to %d", n, wire.MaxRouteChanges)
	}
	var about state.Subject
	for n, c := range wanted.Changes {
		switch {
		case (c.Create == nil) == (c.Delete == ""):
			return operation{}, input.Invalid(fmt.Sprintf("changes[%d]", n), "must have either create or delete")
		case c.Create != nil:
			about.Names = append(about.Names, c.Create.Name)
		default:
			about.IDs = append(about.IDs, c.Delete)
		}
	}
	run := func(ctx context.Context, v state.Distortions) (reply, error) {
		outcomes, err := s.store.ChangeRoutes(ctx, wanted.Changes, v)
		var answer wire.RouteOutcomes
		for n, o := range outcomes {
			success := http.StatusOK
			if wanted.Changes[n].Create != nil {
				success = http.StatusCreated
			}
			result := wire.RouteResult{Route: &o.Route}
			if result.Status, result.Error = outcome(o.Err, success); o.Err != nil {
				result.Route = nil
			}
			answer.Outcomes = append(answer.Outcomes, result)
		}
		return reply{http.StatusOK, answer}, err
	}
	return operation{about: about, run: run}, err
}

// outcome returns the status and the error of one part of a call.
func outcome(err error, success int) (int, *wire.ErrorDetail) {
	if err == nil {
		return success, nil
	}
	refusal := answerTo(err)
	return refusal.StatusCode, &wire.ErrorDetail{Code: refusal.Code, Message: refusal.Message}
}
