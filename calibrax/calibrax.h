/**
 * Calibrax for C: everything public.  Include single headers where compile time matters.
 */
#ifndef CALIBRAX_CALIBRAX_H
#define CALIBRAX_CALIBRAX_H

