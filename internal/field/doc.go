// Package field binds the points of an inventory to the devices that hold them, and runs them: read, write, scale, poll, last
// readings, liveness.
//
// Its promise: a reading says exactly what the device gave, in the point's own unit or label, with the time its request left;
// whatever keeps it from proving something is named in its quality. Read and Write always go to the device. A reading that was
// kept says so by its age, and turns bad when it is too old or when its device stands still. A new binding never cuts short a
// transaction that runs under the old one, unless the time given for the change is over.
//
// It decides nothing: it knows no contract, no permit and no envelope, it never clamps or rounds, and it never repeats a write.
package field
