package simulator

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"
)

const (
	defaultZone   = "sim-1a"
	defaultRegion = "sim-1"
	defaultType   = "small"
)

// asCreated is the instance that a request to create i means, without an ID.
func (i Instance) asCreated() (Instance, error) {
	switch {
	case i.ID != "":
		return i, invalid("id", "must be empty; the cloud gives it")
	case i.State != "":
		return i, invalid("state", "must be empty; an instance is created running")
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
	return i.checked()
}

// patched is the instance with the patch applied.
func (i Instance) patched(p InstancePatch) (Instance, error) {
	i = i.clone()
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
	return i.checked()
}

// merged is a map with a patch applied to it, in which nil removes a key.
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

// checked is the instance in the form in which it is kept, or the first thing
// that is wrong with it.
func (i Instance) checked() (Instance, error) {
	if err := checkWord("name", i.Name); err != nil {
		return i, err
	}
	if err := checkWord("region", i.Region); err != nil {
		return i, err
	}
	if strings.Contains(i.Region, "/") {
		return i, invalid("region", "%q must not contain a slash: it is part of provider IDs", i.Region)
	}
	if _, ok := i.Labels[""]; ok {
		return i, invalid("labels", "a key is empty")
	}
	addresses, err := checkedAddresses("addresses", i.Addresses)
	i.Addresses = addresses
	return i, err
}

// checkWord demands a word that can stand in a comma-separated list.
func checkWord(field, word string) error {
	const longest = 253
	switch {
	case word == "":
		return invalid(field, "must not be empty")
	case len(word) > longest:
		return invalid(field, "is longer than %d bytes", longest)
	case strings.ContainsFunc(word, func(r rune) bool { return r == ',' || unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return invalid(field, "%q must not contain commas, spaces or control characters", word)
	}
	return nil
}

// checkName is checkWord for a name of which so many bytes are kept.
func checkName(name string, longest int) error {
	if len(name) > longest {
		return invalid("name", "is longer than %d bytes", longest)
	}
	return checkWord("name", name)
}

// checkedAddresses are the addresses in the form in which they are kept. It
// never returns nil without an error.
func checkedAddresses(field string, all []Address) ([]Address, error) {
	addresses := make([]Address, 0, len(all))
	for n, a := range all {
		field := fmt.Sprintf("%s[%d]", field, n)
		a, err := a.checked(field)
		if err != nil {
			return nil, err
		}
		if slices.Contains(addresses, a) {
			return nil, invalid(field, "%s %s is given twice", a.Type, a.Address)
		}
		addresses = append(addresses, a)
	}
	return addresses, nil
}

func (a Address) checked(field string) (Address, error) {
	if !slices.Contains(AddressTypes(), a.Type) {
		return a, invalid(field+".type", "%q is none of %s", a.Type, list(AddressTypes()))
	}
	if !a.isIP() {
		return a, checkWord(field+".address", a.Address)
	}
	ip, err := netip.ParseAddr(a.Address)
	if err != nil || ip.Zone() != "" || ip.IsUnspecified() {
		return a, invalid(field+".address", "%q is no IP address that a %s can be", a.Address, a.Type)
	}
	a.Address = ip.Unmap().String()
	return a, nil
}

func (a Address) isIP() bool { return a.Type == InternalIP || a.Type == ExternalIP }

// list writes words one after the other.
func list[T ~string](words []T) string {
	var b strings.Builder
	for n, word := range words {
		if n > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(word))
	}
	return b.String()
}
