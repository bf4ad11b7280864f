"""How models are learnt: plain functions and states over kernels."""
