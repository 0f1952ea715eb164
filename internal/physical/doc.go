// Package physical holds what a plant's numbers are: exact values with units, readings with quality and age, the role of a point,
// tolerances and exact scaling between a device's raw number and the physical one.
//
// Its promise: no conversion in it rounds, clamps or invents. A value that cannot be represented is an error that names its
// neighbours. It does no I/O and keeps no state.
package physical
