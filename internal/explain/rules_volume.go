package explain

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
	"github.com/fairlead-k8s/fairlead/internal/controller/volumefact"
)

// volume explains a PersistentVolume.
func (all Reasons) volume(s subject) Answer {
	of := s.of.(*corev1.PersistentVolume)
	// Events about an earlier volume with the same name do not count.
	s.events = slices.DeleteFunc(slices.Clone(s.events), func(e corev1.Event) bool { return e.InvolvedObject.UID != "" && e.InvolvedObject.UID != of.UID })
	events := all.recorded("PersistentVolume", s.events)
	claims, why := all.claims(of, events), volumefact.LeftAlone(of)
	a := s.answer(all, claims, events)
	switch {
	case of.DeletionTimestamp != nil:
		a.State, a.Summary, a.Since = Deleting, "It is being deleted, so it gets no labels.", &of.DeletionTimestamp.Time
	case why != "":
		a.State, a.Summary = Ready, fmt.Sprintf("The daemon leaves it alone: %s.", why)
	case len(claims) == 0:
		a.State, a.Summary = Unknown, "It has no label of a zone or a region, and no daemon has said why. "+
			"The volume may not belong to the provider, or the controller "+mark.VolumeController+" is not running: it is off by default."
	}
	return a
}
