package state

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

const (
	defaultZone   = "sim-1a"
	defaultRegion = "sim-1"
	defaultType   = "small"
)

// newInstance returns the instance that a request asks to create. It has no ID yet.
func newInstance(i wire.Instance) (wire.Instance, error) {
	switch {
	case i.ID != "":
		return i, input.Invalid("id", "must be empty; the cloud sets it")
	case i.State != "":
		return i, input.Invalid("state", "must be empty; an instance is created running")
	case !i.TerminatedAt.IsZero():
		return i, input.Invalid("terminatedAt", "must be empty; the cloud sets it")
	}
	if i.Zone == "" {
		i.Zone = defaultZone
	}
	if i.Region == "" {
		i.Region = defaultRegion
	}
	if i.Type == "" {
		i.Type = defaultType
	}
	return checkedInstance(i)
}

// patchedInstance returns the instance with the patch applied.
func patchedInstance(i wire.Instance, p wire.InstancePatch) (wire.Instance, error) {
	i.Labels = maps.Clone(i.Labels)
	for _, f := range []struct{ field, from *string }{
		{&i.Name, p.Name}, {&i.Zone, p.Zone}, {&i.Region, p.Region}, {&i.Type, p.Type},
	} {
		if f.from != nil {
			*f.field = *f.from
		}
	}
	if p.Addresses != nil {
		i.Addresses = slices.Clone(p.Addresses)
	}
	i.Labels = merged(i.Labels, p.Labels)
	return checkedInstance(i)
}

// merged returns a map with a patch applied to it. A nil value removes a key.
func merged(words map[string]string, patch map[string]*string) map[string]string {
	for key, value := range patch {
		if value == nil {
			delete(words, key)
			continue
		}
		if words == nil {
			words = map[string]string{}
		}
		words[key] = *value
	}
	return words
}

// checkedInstance checks an instance and returns it in its stored form.
func checkedInstance(i wire.Instance) (wire.Instance, error) {
	if err := input.CheckWord("name", i.Name); err != nil {
		return i, err
	}
	if err := input.CheckWord("region", i.Region); err != nil {
		return i, err
	}
	if strings.Contains(i.Region, "/") {
		return i, input.Invalid("region", "%q must not contain a slash: it is part of provider IDs", i.Region)
	}
	if _, ok := i.Labels[""]; ok {
		return i, input.Invalid("labels", "a key is empty")
	}
	addresses, err := checkedAddresses("addresses", i.Addresses)
	i.Addresses = addresses
	return i, err
}

// checkedAddresses checks addresses and returns them in their stored form. If there is
// no error, the slice is not nil.
func checkedAddresses(field string, all []wire.Address) ([]wire.Address, error) {
	addresses := make([]wire.Address, 0, len(all))
	for n, a := range all {
		field := fmt.Sprintf("%s[%d]", field, n)
		a, err := checkedAddress(a, field)
		if err != nil {
			return nil, err
		}
		if slices.Contains(addresses, a) {
			return nil, input.Invalid(field, "%s %s is given twice", a.Type, a.Address)
		}
		addresses = append(addresses, a)
	}
	return addresses, nil
}

func checkedAddress(a wire.Address, field string) (wire.Address, error) {
	if !slices.Contains(wire.AddressTypes(), a.Type) {
		return a, input.Invalid(field+".type", "%q is not one of %s", a.Type, input.List(wire.AddressTypes()))
	}
	if !isIP(a) {
		return a, input.CheckWord(field+".address", a.Address)
	}
	ip, err := netip.ParseAddr(a.Address)
	if err != nil || ip.Zone() != "" || ip.IsUnspecified() {
		return a, input.Invalid(field+".address", "%q cannot be an IP address of type %s", a.Address, a.Type)
	}
	a.Address = ip.Unmap().String()
	return a, nil
}

func isIP(a wire.Address) bool { return a.Type == wire.InternalIP || a.Type == wire.ExternalIP }
