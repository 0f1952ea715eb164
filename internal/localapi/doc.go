// Package localapi is door 2: the status socket of the people at the box, HTTP and JSON under /v1/ over a unix socket, and its client.
//
// Its promise: the kernel says who calls, and that alone decides. Root and the technicians' group may change things, everybody else
// on the box may read; every change is in force before it is answered, is written into the journal with the person's name, and a call
// goes through the same corridor as an agent's. A request that a browser could have made is refused. It never listens on a network,
// never trusts what a caller says about itself, and never acts on a machine other than through the corridor.
package localapi
