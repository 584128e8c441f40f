package wire

// List is one page of resources, ordered by ID.
type List[T any] struct {
	Items []T `json:"items"`
	// Continue is the value of the query parameter "continue" in a request for the
	// next page. It is empty on the last page.
	Continue string `json:"continue,omitempty"`
}
