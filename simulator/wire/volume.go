package wire

// Volume is a disk. Only instances in one of the volume's zones can use it. Its ID,
// name, zones and region never change. Two volumes never have the same name at the
// same time.
type Volume struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Zones are the zones of the disk. The cloud sorts them. A replicated disk has
	// several zones. If a creation has no zones, the cloud chooses one.
	Zones  []string `json:"zones"`
	Region string   `json:"region,omitempty"`
}
