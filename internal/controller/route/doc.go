// Package route gives the pod CIDRs of every node their way through the cloud,
// and takes away what leads nowhere.
//
// The table is planned as a whole. A pass observes (observe.go) the Nodes, the
// newest listing of the cloud's routes, and what this process has changed since;
// decides (decide.go and the rules_*.go beside it, pure functions) what is to be
// removed and created, each with its why; and hands that out (apply.go) as jobs,
// one for each CIDR. A job removes before it creates, fails and is retried alone,
// and asks for the next pass when it is over. Which condition a Node shows is
// decided by the same pass.
//
// A pass after a change of the Nodes needs no new listing to create a route that
// nobody else had. To remove one it does: nothing is removed by a listing that is
// older than the last change of the Nodes.
//
// A crash between any two steps heals on the next pass, which begins with a
// listing. What is lost is which deletions of Nodes were seen and for how long a
// route has been suspicious; both begin anew, and routes stay meanwhile.
//
// Rules: rules_remove.go says which routes go, stay, or are held (S5);
// rules_create.go which are missing; rules_wait.go when a job is made again and
// when the cloud is asked again; rules_condition.go what a Node shows. Every
// message stands in events.go.
package route
