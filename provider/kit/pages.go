package kit

import (
	"context"
	"fmt"
)

// AllPages returns all items of a list that a cloud returns page by page. It calls
// the given function once for each page. The first token is empty. Each later token
// is the one that the previous call has returned. With the last page, the function
// returns an empty token. If a page fails, AllPages returns no items, because a part
// could be taken for the whole list. A repeated token is an error, too, because the
// list would never end.
func AllPages[T any](ctx context.Context, page func(ctx context.Context, token string) (items []T, next string, err error)) ([]T, error) {
	var all []T
	seen := map[string]bool{}
	for token := ""; ; {
		items, next, err := page(ctx, token)
		if err == nil {
			err = context.Cause(ctx) // some clients return a part of a page when the context ends
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("page %d: %w", len(seen)+1, err)
		case next != "" && seen[next]:
			return nil, fmt.Errorf("page %d: the cloud answered with the token of an earlier page", len(seen)+1)
		}
		all = append(all, items...)
		if next == "" {
			return all, nil
		}
		seen[next] = true
		token = next
	}
}
