package simulator

import "net/http"

func (c *Cloud) instanceEndpoints() []endpoint {
	one := "/instances/{id}"
	name := func(i Instance) string { return i.Name }
	return []endpoint{
		{http.MethodGet, "/instances", ListInstances, listing(c, c.instances, showInstances)},
		{http.MethodPost, "/instances", CreateInstance, creating(name, c.createInstance)},
		{http.MethodGet, one, GetInstance, onOne(c.instance)},
		{http.MethodPatch, one, UpdateInstance, patching(c.updateInstance)},
		{http.MethodPost, one + "/start", StartInstance, onOne(c.startInstance)},
		{http.MethodPost, one + "/stop", StopInstance, onOne(c.stopInstance)},
		{http.MethodDelete, one, TerminateInstance, withoutBody(onOne(c.terminateInstance))},
	}
}

func showInstances(rows []*machine, next string) any {
	list := InstanceList{Items: []Instance{}, Continue: next}
	for _, m := range rows {
		list.Items = append(list.Items, m.Instance)
	}
	return list
}
