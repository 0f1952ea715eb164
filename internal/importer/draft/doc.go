// Package draft writes the inventory file that an importer proposes: YAML of the form capd/v1 with the reasons in comments,
// for an engineer to review.
//
// Its promise: what it writes is one well-formed document whatever texts it is given, the same for the same input, and every
// point in it is read only. It never enables a write, never invents an address, and does no I/O.
package draft
