# Tests of device/: with a fake driver (tests/fake_driver.h), so that they run anywhere.
