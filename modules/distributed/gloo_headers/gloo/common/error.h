// See ../../README.md.
#pragma once
