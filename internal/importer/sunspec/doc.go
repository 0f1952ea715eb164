// Package sunspec finds out which SunSpec models a Modbus device has and proposes an inventory of their points.
//
// Its promise: it only reads holding registers, in small requests, and every address it proposes was found in the device's own chain
// of models. Devices that end their chain wrongly, or not at all, are read as far as they go, and what was unusual is said. A
// value's scale factor is never taken as fixed: devices change it during the day, so a point names the register of its factor
// (scale_register), to be read together with the value. Nothing it proposes can write.
//
// The layouts of the models come from the SunSpec Alliance's model definitions; see NOTICE and LICENSE in this folder. The rules of
// the chain and of values that are not implemented are those of the SunSpec Device Information Model Specification.
package sunspec
